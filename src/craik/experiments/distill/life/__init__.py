"""The Game of Life from few boards: which frame of a scrambled trajectory helps which layer of a network."""
