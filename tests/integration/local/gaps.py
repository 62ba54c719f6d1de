"""All gaps of moto that the local runtime patches.

Run as a module it tries all of them on plain moto and prints the answers as JSON.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable

from integration.local import gaps_of_machines as machines
from integration.local import gaps_of_queues as queues
from integration.local import gaps_of_tables as tables
from integration.local.plain_moto import plain_cloud

Gap = Callable[[], bool]

GAPS: tuple[Gap, ...] = (
    tables.several_threads_win_one_transaction,
    tables.a_cancelled_transaction_swaps_the_table,
    tables.a_failed_update_leaves_keys_behind,
    tables.a_request_token_is_ignored,
    tables.a_transaction_may_exceed_4_mb,
    tables.a_batch_may_exceed_25_items,
    tables.an_unchanged_item_gets_a_record,
    tables.a_creating_update_gets_two_records,
    tables.an_iterator_dies_with_a_cancelled_transaction,
    tables.a_query_sorts_the_whole_table,
    tables.an_attribute_is_searched_for_every_type,
    tables.consumed_capacity_is_constant,
    queues.a_timed_out_batch_comes_back_in_another_order,
    queues.a_deleted_message_is_not_deduplicated,
    queues.deduplication_ignores_groups,
    queues.a_long_poll_on_a_blocked_group_spins,
    queues.sequence_numbers_do_not_grow,
    queues.a_lambda_invocation_only_echoes,
    machines.jsonata_has_no_evaluator,
    machines.bound_quotes_break_expressions,
    machines.other_alphabets_count_two_or_threefold,
    machines.a_task_may_be_given_more_than_256_kb,
    machines.cloudformation_creates_machines_that_do_not_run,
    machines.a_bad_execution_name_is_accepted,
    machines.unnamed_executions_collide,
    machines.a_timestamp_is_read_as_local_time,
    machines.a_stop_loses_its_cause,
    tables.instances_are_kept_for_ever,
)


def open_gaps() -> dict[str, bool]:
    """Every gap tried, each on a cloud of its own."""
    answers = {}
    for gap in GAPS:
        with plain_cloud():
            answers[gap.__name__] = gap()
    return answers


if __name__ == "__main__":
    logging.disable()  # the interpreter reports the gaps as well
    sys.stdout.write(json.dumps(open_gaps()))
