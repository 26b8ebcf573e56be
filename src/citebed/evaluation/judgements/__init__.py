"""Sets of judgements: sampled, merged, expanded by co-citation, grouped."""
