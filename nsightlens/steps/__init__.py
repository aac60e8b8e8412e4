"""Steps: phase and batch size of a launch, from its NVTX ranges."""
