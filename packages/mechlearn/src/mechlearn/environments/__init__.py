"""Which example belongs to which environment, and what losses by environment must be: for agreement, surfaces and methods."""

from craik.environments.ids import EnvironmentIds as EnvironmentIds
from craik.environments.ids import Ids as Ids
from craik.environments.ids import named as named
from craik.environments.losses import batch_norms_in_train_mode as batch_norms_in_train_mode
from craik.environments.losses import check_differentiable as check_differentiable
from craik.environments.losses import check_finite_sums as check_finite_sums
from craik.environments.losses import check_finite_together as check_finite_together
from craik.environments.losses import check_trainable as check_trainable
from craik.environments.losses import check_unreduced as check_unreduced
from craik.environments.partition import Environments as Environments
from craik.environments.partition import check_finite_losses as check_finite_losses
from craik.environments.partition import group as group
from craik.environments.partition import partition as partition
