"""What a public argument may be, in sentences: the rule, the value found, the way out. For public doors only.

Every check returns nothing and raises TypeError for a value of another type (True and False are no numbers) and ValueError for
one out of its range. ``why`` goes behind the rule, ``way_out`` to the end; both may be empty. A tensor's shape, type and device
cost nothing to check. Its values cost a pass, and on an accelerator a wait: they are looked at where they enter a state, a
decision or a loss, not in the forward pass of every layer.
"""

from mechlearn.arguments.keywords import Choice as Choice
from mechlearn.arguments.keywords import worded as worded
from mechlearn.arguments.kinds import check_callable as check_callable
from mechlearn.arguments.kinds import check_each as check_each
from mechlearn.arguments.kinds import check_kind as check_kind
from mechlearn.arguments.kinds import check_params as check_params
from mechlearn.arguments.kinds import check_path as check_path
from mechlearn.arguments.ranges import check_decay as check_decay
from mechlearn.arguments.ranges import check_finite as check_finite
from mechlearn.arguments.ranges import check_flag as check_flag
from mechlearn.arguments.ranges import check_not_negative as check_not_negative
from mechlearn.arguments.ranges import check_one_of as check_one_of
from mechlearn.arguments.ranges import check_positive as check_positive
from mechlearn.arguments.ranges import check_seed as check_seed
from mechlearn.arguments.ranges import check_share as check_share
from mechlearn.arguments.ranges import check_whole as check_whole
from mechlearn.arguments.tensors import FLOATS as FLOATS
from mechlearn.arguments.tensors import all_finite as all_finite
from mechlearn.arguments.tensors import check_all_finite as check_all_finite
from mechlearn.arguments.tensors import check_data as check_data
from mechlearn.arguments.tensors import check_floats as check_floats
from mechlearn.arguments.tensors import check_generator as check_generator
from mechlearn.arguments.tensors import check_graphs as check_graphs
from mechlearn.arguments.tensors import check_ids as check_ids
from mechlearn.arguments.tensors import check_mask as check_mask
from mechlearn.arguments.tensors import check_numbers as check_numbers
from mechlearn.arguments.tensors import check_result as check_result
from mechlearn.arguments.tensors import check_returned as check_returned
from mechlearn.arguments.tensors import check_shape as check_shape
from mechlearn.arguments.tensors import check_tensor as check_tensor
from mechlearn.arguments.tensors import ends as ends
from mechlearn.arguments.tensors import first_nonfinite as first_nonfinite
