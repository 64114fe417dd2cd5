"""CoinRun: behavioural cloning over procedurally generated levels, from the real simulator.

Source: thesis section 3.3.3 and appendix B.2.6; paper section 3.3. An expert plays CoinRun (Cobbe et al., 2019); what it
saw and how it would act is recorded on few levels for training and on many others for validation and test.

The simulator, Procgen, has wheels for Python 3.10 only. It therefore runs in a process of its own with an interpreter of its
own (`interpreter`, `simulator`), and everything else here, where Python is newer, talks to it through a pipe (`levels`):

- `expert` trains the policy that is to be cloned, by PPO (`ppo`: stable-baselines3), which plays through `games`; `keeping`
  writes and reads it;
- `collecting` lets it play and records states and action probabilities, as `mechlearn_zoo.tasks.pictures.cloning.Recording`.
"""
