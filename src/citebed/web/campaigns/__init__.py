"""The web pages of a campaign: for judges, by personal links; for organisers, by password."""
