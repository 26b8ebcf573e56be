"""The web pages of a campaign: for assessors, by personal links; for organisers, by password."""
