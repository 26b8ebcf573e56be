"""The web pages to confirm annotated papers, in the browser of the one who started them."""
