"""Loss surfaces of several environments: landscapes, Hessians, patchworks (thesis sections 3.1 and 3.2)."""
