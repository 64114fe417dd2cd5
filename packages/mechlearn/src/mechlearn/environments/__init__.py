"""Which example belongs to which environment, and what losses by environment must be: for agreement, surfaces and methods."""

from mechlearn.environments.ids import EnvironmentIds as EnvironmentIds
from mechlearn.environments.ids import Ids as Ids
from mechlearn.environments.ids import named as named
from mechlearn.environments.losses import batch_norms_in_train_mode as batch_norms_in_train_mode
from mechlearn.environments.losses import check_differentiable as check_differentiable
from mechlearn.environments.losses import check_finite_sums as check_finite_sums
from mechlearn.environments.losses import check_finite_together as check_finite_together
from mechlearn.environments.losses import check_trainable as check_trainable
from mechlearn.environments.losses import check_unreduced as check_unreduced
from mechlearn.environments.partition import Environments as Environments
from mechlearn.environments.partition import check_finite_losses as check_finite_losses
from mechlearn.environments.partition import group as group
from mechlearn.environments.partition import partition as partition
