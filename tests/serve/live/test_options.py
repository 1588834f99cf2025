from __future__ import annotations

from relume.advice import Operation
from relume.models.policy.policy import Policy, Preset
from relume.serve.live.options import policy_of
from relume.settings import PolicySettings, Settings


def test_defaults_of_the_settings_are_those_of_the_standard_preset() -> None:
    written = {name: field.default for name, field in PolicySettings.model_fields.items()}
    assert policy_of(Settings(policy=PolicySettings(**written))) == Policy.of(Preset.STANDARD)
    assert policy_of(Settings()) == Policy.of(Preset.STANDARD)


def test_a_preset_sets_what_the_configuration_does_not_name() -> None:
    section = PolicySettings(preset="aggressive", max_restarts=2, numeric="hold")
    policy = policy_of(Settings(policy=section))
    assert (policy.max_restarts, policy.numeric) == (2, Operation.HOLD)
    assert policy.exclusion_cap == Policy.of(Preset.AGGRESSIVE).exclusion_cap
