"""A set judged whole: problems with remedies, inputs, environment, choices, the effective descriptor."""

from __future__ import annotations

import itertools

from kitstudio.models.plan import Member, Offer, Plan, ProblemKind, RemedyKind, plan_set
from tests.models.sets import CLAIMED, allow, base, member, plan, set_of


def kinds(made: Plan) -> list[ProblemKind]:
    return [problem.kind for problem in made.problems]


def test_a_coherent_set_has_an_order_a_surface_and_an_effective_descriptor() -> None:
    made = plan(member("gh", "requires: [base]\n" + allow("a.example")), base(allow("b.example")), claimed=CLAIMED)
    assert made.coherent and made.launchable
    assert made.ordered == ("demo.invalid/base:1.0.0", "demo.invalid/gh:1.0.0")
    assert made.workload == "demo.invalid/base:1.0.0"
    assert made.surface.network_runtime_allow == ("a.example", "b.example")
    assert made.effective is not None and made.effective.kind == "workload"
    assert [(edge.requirer, edge.provider) for edge in made.edges] == [(made.ordered[1], made.ordered[0])]


def test_the_plan_does_not_depend_on_the_order_of_members() -> None:
    members = [
        base(allow("b.example")),
        member("gh", "provides: [gh]\nrequires: [base]\n" + allow("a.example")),
        member("z", "requires: [gh]\n" + allow("a.example", deny=("m.example",))),
        member("a", "integrates: [z]\n"),
    ]
    plans = [plan(*order) for order in itertools.permutations(members)]
    assert len({p.ordered for p in plans}) == 1
    assert len({p.surface for p in plans}) == 1
    assert all(p.effective == plans[0].effective for p in plans)
    assert all(p.permissions == plans[0].permissions for p in plans)


def test_who_asks_for_one_host_is_told_together() -> None:
    made = plan(base(allow("a.example")), member("gh", allow("a.example")))
    assert [[asker.kit for asker in row.askers] for row in made.permissions] == [list(made.ordered)]


def test_a_missing_provider_can_be_added_newest_first() -> None:
    offers = [
        Offer("demo.invalid/node:20.1.0", "20.1.0", ("node",)),
        Offer("demo.invalid/node:22.1.0", "22.1.0", ("node",)),
        Offer("demo.invalid/node:18.0.0", "18.0.0", ("node",)),
        Offer("demo.invalid/other:1.0.0", "1.0.0", ("other",)),
    ]
    made = plan(base(), member("app", 'requires: ["node >= 20"]\n'), catalog_offers=offers)
    assert kinds(made) == [ProblemKind.REQUIRES_MISSING]
    remedies = made.problems[0].remedies
    assert [(r.kind, r.other or r.kit) for r in remedies] == [
        (RemedyKind.ADD, "demo.invalid/node:22.1.0"),
        (RemedyKind.REMOVE, "demo.invalid/app:1.0.0"),
    ]
    assert remedies[0].label == "Add node 22.1.0"


def test_a_debian_package_asks_for_another_base() -> None:
    offers = [Offer("demo.invalid/debian:1", "1", ("deb/jq@1.7",), "workload")]
    made = plan(base(), member("statusline", "requires: [deb/jq]\n"), catalog_offers=offers)
    problem = made.problems[0]
    assert "Debian-family" in problem.detail
    assert (problem.remedies[0].kind, problem.remedies[0].kit) == (RemedyKind.REPLACE, "demo.invalid/base:1.0.0")


def test_two_bases_are_one_problem_though_they_share_packages() -> None:
    packages = ", ".join(f"deb/p{n}@1" for n in range(50))
    one = member("one", f"provides: [{packages}]\n", "workload")
    two = member("two", f"provides: [{packages}]\n", "workload")
    made = plan(one, two)
    assert kinds(made) == [ProblemKind.SEVERAL_WORKLOADS]
    assert [r.label for r in made.problems[0].remedies] == ["Keep one 1.0.0", "Keep two 1.0.0 instead"]


def test_a_cycle_is_told_beside_other_problems() -> None:
    ring = (member("a", "provides: [a]\nrequires: [b]\n"), member("b", "provides: [b]\nrequires: [a]\n"))
    made = plan(base(), *ring, member("c", "requires: [nope]\n"))
    assert kinds(made) == [ProblemKind.REQUIRES_MISSING, ProblemKind.CYCLE]
    assert set(made.ordered) == {m.reference for m in made.members}


def test_inputs_say_what_is_needed_and_never_repeat_a_value() -> None:
    args = "args:\n  dbName: {required: true, pattern: '[a-z_]+'}\n  token: {required: true}\n"
    made = plan(base(args, args={"dbName": "Ledger-1"}))
    assert kinds(made) == [ProblemKind.ARG, ProblemKind.ARG]
    assert [(i.name, bool(i.error), i.secret) for i in made.inputs] == [("dbName", True, False), ("token", True, True)]
    assert "Ledger-1" not in repr(made.problems)
    assert made.effective is None and made.surface.empty


def test_an_enum_offers_its_values() -> None:
    made = plan(base("args: {team: {required: true, enum: [alpha, beta]}}\n"))
    assert [r.label for r in made.problems[0].remedies] == ["Use alpha", "Use beta"]


def test_an_unknown_input_can_be_cleared() -> None:
    made = plan(base(args={"colour": "blue"}))
    assert [(r.kind, r.label) for r in made.problems[0].remedies] == [(RemedyKind.SET_ARG, "Clear colour")]


def test_a_kits_input_can_be_the_sets_own() -> None:
    inner = base(
        "args: {host: {required: true}}\n" + allow("${{ kit.args.host }}"), args={"host": "${{ kit.args.where }}"}
    )
    made = plan(inner, text="args: {where: {required: true}}", set_args={"where": "eu.example"})
    assert made.coherent
    assert made.surface.network_runtime_allow == ("eu.example",)
    missing = plan(inner, text="args: {where: {required: true}}")
    assert [(p.kind, p.kits) for p in missing.problems] == [(ProblemKind.ARG, ())]


def test_a_re_export_the_set_does_not_declare_is_told() -> None:
    made = plan(base("args: {host: {required: true}}\n", args={"host": "${{ kit.args.where }}"}))
    assert kinds(made) == [ProblemKind.ARG]
    assert "does not declare" in made.problems[0].detail


def test_the_environment_is_images_then_args_then_overrides() -> None:
    first = base(
        "args: {colour: {default: red, env: COLOUR}}\n",
        image_env={"PATH": "/bin:/usr/bin", "COLOUR": "grey", "HOME": "/home/agent"},
    )
    second = member("tool", "requires: [base]\n", image_env={"PATH": "/opt/tool:/bin", "EXTRA": "1"})
    made = plan(first, second, environment={"EXTRA": "2"})
    assert made.environment == {
        "PATH": "/bin:/usr/bin:/opt/tool",
        "COLOUR": "red",
        "HOME": "/home/agent",
        "EXTRA": "2",
    }


def test_environment_references_are_filled_in_and_a_missing_one_is_told() -> None:
    hook = "capabilities:\n- type: com.docker.sandbox/volume@1\n  config: {path: '${{ kit.env.HOME }}/x'}\n"
    assert plan(base(hook, image_env={"HOME": "/home/agent"})).surface.storage_paths == ("/home/agent/x",)
    made = plan(base(hook))
    assert kinds(made) == [ProblemKind.ARG]
    assert "HOME" in made.problems[0].detail


def test_an_optional_request_the_runtime_lacks_is_skipped_and_a_required_one_is_named() -> None:
    ask = "capabilities:\n- {type: com.docker.sandbox/port@1, %sconfig: {container: 80}}\n"
    skipped = plan(base(ask % "optional: true, "), claimed=CLAIMED)
    assert skipped.launchable and skipped.surface.ports == ()
    assert [(c.supported, c.selected) for c in skipped.choices] == [(False, False)]
    refused = plan(base(ask % ""), claimed=CLAIMED)
    assert refused.coherent and not refused.launchable
    assert [(p.kind, p.name) for p in refused.runtime_problems] == [
        (ProblemKind.UNSUPPORTED_CAPABILITY, "com.docker.sandbox/port@1")
    ]
    assert refused.surface.ports == ("80/tcp",)


def test_a_newer_type_is_called_newer() -> None:
    made = plan(base("capabilities:\n- {type: com.docker.sandbox/teleport@1}\n"), claimed=CLAIMED)
    assert "newer than this app" in made.runtime_problems[0].message


def test_switching_a_group_off_takes_all_of_it_off_the_surface() -> None:
    group = (
        "capabilities:\n- group:\n    name: Cache\n    optional: true\n    capabilities:\n"
        "    - {type: com.docker.sandbox/volume@1, config: {path: /cache}}\n"
        "    - {type: com.docker.sandbox/lifecycle@1, config: {startup: [{command: warm}]}}\n"
    )
    on = plan(base(group))
    off = plan(base(group), choices={"demo.invalid/base:1.0.0#capabilities[0]": False})
    assert on.surface.storage_paths == ("/cache",) and off.surface.empty
    assert [choice.label for choice in off.choices] == ["Cache"]
    assert [row.detail for row in off.choices[0].permissions] == ["/cache"]
    assert off.effective is not None and off.effective.capabilities == ()


def test_ownership_of_a_credential_is_judged_on_what_is_selected() -> None:
    ask = (
        "capabilities:\n- type: com.docker.sandbox/credential@1\n  optional: true\n"
        "  config: {service: gh, phase: runtime, apiKey: {name: K}}\n"
    )
    both = plan(base(ask), member("gh", ask))
    assert kinds(both) == [ProblemKind.SEVERAL_CREDENTIAL_OWNERS]
    one = plan(base(ask), member("gh", ask), choices={"demo.invalid/gh:1.0.0#capabilities[0]": False})
    assert one.coherent


def test_conflicts_of_a_merge_name_the_kits() -> None:
    ask = "capabilities:\n- {type: com.docker.sandbox/volume@1, config: {path: /data, size: %s}}\n"
    made = plan(base(ask % "1g"), member("gh", ask % "2g"))
    assert [(p.kind, p.kits) for p in made.problems] == [(ProblemKind.MERGE, made.ordered)]


def test_an_inject_domain_no_kit_allows_is_a_problem_of_the_composed_set() -> None:
    ask = (
        "capabilities:\n- type: com.docker.sandbox/credential@1\n"
        "  config: {service: gh, phase: runtime, apiKey: {inject: [{domain: api.example}]}}\n"
    )
    made = plan(base(), member("gh", ask))
    assert [(p.kind, p.kits) for p in made.problems] == [(ProblemKind.MERGE, ("demo.invalid/gh:1.0.0",))]
    assert plan(base(allow("api.example")), member("gh", ask)).coherent


def test_while_members_load_the_rest_is_planned() -> None:
    made = plan(
        member("app", "requires: [base]\n" + allow("a.example")), Member("demo.invalid/base:1.0.0", loading=True)
    )
    assert made.loading and not made.coherent
    assert made.problems == ()
    assert made.surface.network_runtime_allow == ("a.example",)
    assert set(made.ordered) == {"demo.invalid/app:1.0.0", "demo.invalid/base:1.0.0"}


def test_a_descriptor_that_is_not_valid_is_no_kit() -> None:
    made = plan(base("capabilities:\n- {type: com.docker.sandbox/port@1, config: {container: 0}}\n"))
    assert ProblemKind.NOT_A_KIT in kinds(made)
    assert "capabilities[0].config.container" in made.problems[0].detail


def test_an_empty_set_says_so() -> None:
    assert kinds(plan()) == [ProblemKind.EMPTY_SET]


def test_the_sets_own_requests_count_and_are_its_own() -> None:
    made = plan(base(), text=allow("own.example"))
    assert made.coherent
    assert made.surface.network_runtime_allow == ("own.example",)
    assert [asker.kit for row in made.permissions for asker in row.askers] == [""]
    assert made.ordered == ("demo.invalid/base:1.0.0",)


def test_selected_requests_keep_their_place_whatever_they_say_of_their_origin() -> None:
    text = (
        "capabilities:\n- type: com.docker.sandbox/port@1\n  config: {container: 80}\n"
        "  source: {kit: evil.example/x:1, path: 'capabilities[9]'}\n"
    )
    made = plan(base(text))
    entry = made.selected["demo.invalid/base:1.0.0"].entries()[0]
    assert entry.source is not None
    assert (entry.source.kit, entry.source.path) == ("demo.invalid/base:1.0.0", "capabilities[0]")


def test_the_version_of_the_reference_counts_in_the_composed_set() -> None:
    made = plan(base(name="base:2.5.0"))
    assert made.effective is not None and made.effective.provides == ("base@2.5.0",)


def test_a_bounded_grant_another_kit_has_outright_is_not_shown_as_a_limit() -> None:
    bounded = (
        "capabilities:\n- type: com.docker.sandbox/network-policy@2\n"
        "  config: {runtime: {allow: [{hosts: [a.example], methods: [GET]}]}}\n"
    )
    made = plan(base(allow("a.example")), member("gh", bounded))
    assert [row.entry for row in made.permissions] == ["a.example"]


def test_secrets_are_in_no_representation() -> None:
    made = plan_set(
        set_of(base("args: {token: {required: true, env: TOKEN}}\n")),
        (base("args: {token: {required: true, env: TOKEN}}\n"),),
        secrets={("demo.invalid/base:1.0.0", "token"): "hunter2"},
    )
    assert made.coherent
    assert "hunter2" not in repr(made)


def test_an_input_marked_as_secret_is_in_no_finding() -> None:
    port = "capabilities:\n- {type: com.docker.sandbox/port@1, config: {container: '${{ kit.args.where }}'}}\n"
    kit = base(f"args: {{where: {{required: true}}}}\n{port}")
    secrets = {("demo.invalid/base:1.0.0", "where"): "hunter2"}
    made = plan_set(set_of(kit), (kit,), secrets=secrets)
    assert made.problems
    assert "hunter2" not in repr(made.problems) and "filled in" in made.problems[0].detail


def test_a_set_may_ask_for_what_only_a_workload_may() -> None:
    made = plan(base(), text="capabilities: [{type: com.docker.sandbox/sbx@1}]")
    assert made.coherent
    assert made.effective is not None
    assert [entry.type for entry in made.effective.entries()] == ["com.docker.sandbox/sbx@1"]
