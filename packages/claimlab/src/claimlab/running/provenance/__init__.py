"""Where rows come from: which code on which machine, with what."""
