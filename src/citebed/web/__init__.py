"""The web side: the workbench over collections, the pages of campaigns, the review of papers."""
