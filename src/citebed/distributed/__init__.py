"""Run citebed's work on your own engine: Spark, or any server that speaks Spark Connect."""
