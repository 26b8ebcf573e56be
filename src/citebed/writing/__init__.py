"""Help with a draft: check its references and fill in missing citations."""
