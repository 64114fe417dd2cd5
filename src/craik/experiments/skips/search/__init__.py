"""Every method at the best settings that the same search finds for it: is ASI still ahead?"""
