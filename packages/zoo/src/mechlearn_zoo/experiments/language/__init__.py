"""Language: probes, generators and encoders on text that is always there."""
