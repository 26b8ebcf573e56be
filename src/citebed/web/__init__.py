"""The web: pages for judges and organisers of a campaign."""
