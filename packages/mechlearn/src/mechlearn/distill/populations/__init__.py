"""Population-trained teachers (thesis chapter 5, outlook): one teacher, several students of different ages and seeds."""
