"""A secret never becomes a permission, since permissions are written down."""

import pytest

from kitstudio.models.errors import KitStudioError
from kitstudio.services.secret_permissions import refuse_written_secrets
from tests.models.test_lock import WITH_TOKEN, base, plan

TOKEN = ("demo.invalid/base:1.0.0", "token")


@pytest.mark.parametrize("host", ["${{ kit.args.token }}.example", "x-${{ kit.args.token }}.a.example"])
def test_a_secret_in_a_host_is_refused_without_showing_it(host: str) -> None:
    made = plan(base(WITH_TOKEN.replace("a.example", host)), secrets={TOKEN: "hunter2"})
    assert made.coherent
    with pytest.raises(KitStudioError, match="token would become part") as told:
        refuse_written_secrets(made)
    assert "hunter2" not in f"{told.value} {told.value.where} {told.value.remedy}"


@pytest.mark.parametrize("secret", ["hunter2", "example", "a.example"])
def test_a_secret_that_only_resembles_a_permission_is_none_of_its_parts(secret: str) -> None:
    refuse_written_secrets(plan(base(WITH_TOKEN), secrets={TOKEN: secret}))
