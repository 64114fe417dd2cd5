"""Worlds and those who act in them: models learnt without reward, and then used."""

from mechlearn_zoo.methods.worlds.forward_models import Predicted as Predicted
from mechlearn_zoo.methods.worlds.forward_models import RelationalForwardModel as RelationalForwardModel
from mechlearn_zoo.methods.worlds.forward_models import next_action_losses as next_action_losses
from mechlearn_zoo.methods.worlds.forward_models import perfect_steps as perfect_steps
from mechlearn_zoo.methods.worlds.forward_models import relative_places as relative_places
from mechlearn_zoo.methods.worlds.influence import causal_influence as causal_influence
from mechlearn_zoo.methods.worlds.influence import influence_rewards as influence_rewards
from mechlearn_zoo.methods.worlds.influence import mutual_information as mutual_information
from mechlearn_zoo.methods.worlds.others import ModelOfOthers as ModelOfOthers
from mechlearn_zoo.methods.worlds.others import others_losses as others_losses
from mechlearn_zoo.methods.worlds.symbols import grounding as grounding
from mechlearn_zoo.methods.worlds.symbols import topographic_similarity as topographic_similarity
from mechlearn_zoo.methods.worlds.symbols import vocabulary_reward as vocabulary_reward
