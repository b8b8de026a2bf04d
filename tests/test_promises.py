"""docs/promises.md: each of its sentences has a test, which is named here.

A sentence that says how something is meant or what is not promised has the test of what it is about.
Whoever changes the page names the test of the new sentence, writes it, or leaves the sentence out.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "promises.md").read_text(encoding="utf-8")

#: The tests of a sentence, by how it begins; those of a row of the table by its exit code.
PROMISES = {
    "This page specifies": "test_promises.py::test_every_sentence_has_a_test",
    "The tests check these guarantees": "test_promises.py::test_the_tests_are_there",
    # Threads
    "Any number of threads": "core/test_threads.py::test_all_verbs_at_once",
    "Results depend neither": "core/test_threads.py::test_all_verbs_at_once "
    "core/test_resample.py::test_results_do_not_depend_on_threads",
    "The same data and the same seed": "golden/test_golden.py::test_results_are_as_they_were",
    "A process has one pool": "core/test_threads.py::test_the_pool_has_as_many_threads_as_the_variable_says",
    "If the system grants no threads": "core/test_trec_large.py::test_no_threads",
    "In the process of the command, OpenBLAS": "cli/test_process.py::test_blas_has_one_thread_unless_the_user_says_so",
    "Under `calipers learn`": "cli/test_process.py::test_blas_has_one_thread_unless_the_user_says_so",
    "Loops over data release": "core/test_threads.py::test_a_signal_ends_the_work",
    "Charts are drawn by a helper process": "report/test_html.py::test_pictures_begun_beside_are_those_drawn_at_once "
    "report/test_html.py::test_a_page_in_a_forked_process",
    "Calipers has not been tested": "core/test_threads.py::test_the_core_asks_for_the_gil",
    "Importing it there": "core/test_threads.py::test_the_core_asks_for_the_gil",
    # Forks
    "A child of `fork`": "core/test_threads.py::test_a_fork_after_work",
    "Calipers needs no special treatment": "core/test_threads.py::test_joblib_after_work",
    "`spawn` and `forkserver`": "core/test_threads.py::test_processes_that_are_started",
    # Signals
    "Ctrl-C stops the current work": "core/test_threads.py::test_a_signal_ends_the_work "
    "core/test_trec_large.py::test_waiting_for_a_pipe_is_interrupted",
    "Any other signal handler": "core/test_threads.py::test_what_a_handler_raises_ends_the_work",
    "The command ends by SIGTERM": "cli/test_process.py::test_a_signal_leaves_no_copy_of_the_input",
    "A second signal ends it": "cli/test_process.py::test_a_second_signal_ends_the_command_at_once",
    "A signal that the parent ignores": "cli/test_process.py::test_a_signal_that_the_parent_ignores_stays_ignored",
    "As always in Python": "core/test_threads.py::test_what_a_handler_raises_ends_the_work",
    "Work that another thread began": "core/test_threads.py::test_daemon_threads_do_not_keep_the_process",
    # Memory
    "No argument makes the process": "laws/test_hostile_arguments.py::test_hostile_arguments",
    "There may be 100": "evaluate/test_plan.py::test_replicates_are_bounded",
    "An array that does not fit": "cli/test_process.py::test_a_lack_of_memory_is_said_plainly",
    "Under a limit of the address space": "cli/test_process.py::test_too_little_memory_is_71_whatever_lacks_it",
    "To this end it runs in a child": "cli/test_process.py::test_under_a_limit_of_memory_outcomes_and_signals_are_as_without",
    "Charts are drawn in a process of their own": "cli/test_process.py::test_charts_without_memory_leave_the_evaluation",
    "Their engine reserves more": "cli/test_process.py::test_charts_without_memory_leave_the_evaluation",
    "`memory=` (`--memory`) bounds": "engines/test_same_as_memory.py::test_averages_of_areas_of_scores_that_are_taken_together",
    "SIGTERM and SIGHUP leave no": "cli/test_process.py::test_a_signal_leaves_no_half_written_file",
    "A table that changes while": "data/test_byte_sources.py::test_a_file_that_changes_while_it_is_read_is_told",
    "In a subinterpreter": "test_package.py::test_a_subinterpreter_is_refused",
    "A NUL byte in the first": "core/test_trec_limits.py::test_a_null_byte_in_the_beginning "
    "core/test_trec_limits.py::test_a_line_has_a_limit",
    "This prevents a device": "core/test_trec_limits.py::test_a_device_without_an_end "
    "core/test_trec_limits.py::test_ten_gigabytes_in_a_small_file",
    "A NUL byte anywhere": "data/test_byte_sources.py::test_null_is_found_however_it_is_cut "
    "data/test_byte_sources.py::test_what_is_no_text_is_told_before_it_fills_the_memory "
    "data/test_byte_sources.py::test_values_that_nest_deep_are_refused",
    "Data from a pipe are read once": "data/test_streams.py::test_pipes_are_read_once "
    "data/test_pipes.py::test_runs",
    "Judgments and runs beyond 4 MiB": "core/test_trec_large.py::test_pipes "
    "cli/test_process.py::test_a_signal_leaves_no_copy_of_the_input",
    "Compressed text takes memory": "fuzzing/test_fuzzing.py::test_memory_is_in_proportion_to_the_decompressed_text "
    "fuzzing/test_fuzzing.py::test_memory_is_in_proportion_to_the_rows",
    "Tables that would take more": "data/test_streams.py::test_a_small_file_of_much_text_is_large "
    "evaluate/test_case_scores.py::test_a_long_table_above_the_memory_is_read_by_the_command_as_in_python",
    # Files that are written
    "A regular file is replaced": "report/test_files.py::test_a_full_disk_leaves_the_old_file_and_is_told_by_its_name",
    "The mode stays": "report/test_files.py::test_a_file_keeps_its_permissions "
    "report/test_files.py::test_a_file_keeps_its_owner",
    "If the process is killed": "report/test_files.py::test_whatever_stops_the_writing_leaves_the_old_file",
    "Other hard links": "report/test_files.py::test_other_hard_links_keep_the_old_content",
    "A link is followed": "report/test_files.py::test_links_are_followed_to_their_target",
    "Calipers writes into a device": "report/test_files.py::test_a_device_is_written_into_and_stays_one "
    "report/test_files.py::test_a_pipe_is_written_into "
    "report/test_files.py::test_an_open_file_of_another_process_is_not_replaced",
    "`-o -` is standard output": "report/test_files.py::test_the_standard_output_is_written_to_where_it_stands",
    "Before any computation": "cli/test_files.py::test_no_output_is_an_input "
    "cli/test_files.py::test_no_output_is_another report/test_files.py::test_one_file_under_two_names_is_known",
    "An output that is an input": "cli/test_files.py::test_no_output_is_an_input",
    "If a command writes two outputs": "cli/test_files.py::test_an_output_that_cannot_be_written_is_told_first",
    "Calipers never deletes a file": "campaign/test_store.py::test_nothing_is_written_over",
    "Apart from outputs and temporary": "report/test_html.py::test_the_bundle_is_cached",
    "That file may be deleted": "report/test_html.py::test_a_copy_that_is_not_whole_is_made_anew",
    # Campaigns
    "Every judgment that": "campaign/test_store.py::test_each_event_waits_for_the_disk",
    "The file is SQLite": "campaign/test_store.py::test_what_is_set_is_read_back "
    "campaign/test_store.py::test_a_pragma_that_does_not_take_is_told",
    "A process that is killed": "campaign/test_store.py::test_a_killed_process_loses_nothing_that_it_has_acknowledged",
    "Incomplete transactions": "campaign/test_store.py::test_what_a_killed_process_began_is_taken_back",
    "An event with a known id": "campaign/test_store.py::test_the_same_event_twice_is_recorded_once",
    "An event that is based": "campaign/test_store.py::test_what_replaces_something_stale_is_refused "
    "campaign/test_sessions.py::test_a_stale_window_is_told_what_stands",
    "Calipers never changes or deletes an event": "campaign/test_chain.py::test_triggers_refuse_to_touch_an_event "
    "campaign/test_store.py::test_events_are_never_changed",
    "Events are chained": "campaign/test_chain.py::test_a_changed_event_is_evident "
    "campaign/test_chain.py::test_without_the_last_event_the_head_is_another",
    "Files of earlier versions have": "campaign/test_measures.py::test_files_of_the_first_version_are_opened_as_they_are",
    "`calipers campaign log`": "campaign/test_export.py::test_the_log_says_what_stood_before",
    "Opening a campaign checks": "campaign/test_chain.py::test_damaged_files_are_refused",
    "A damaged file is an error": "campaign/test_chain.py::test_damage_anywhere_is_an_error_or_harmless",
    "`calipers campaign backup`": "campaign/test_chain.py::test_backups_of_a_campaign_that_is_written_to_are_sound",
    "A key press on the page": "campaign/test_page.py::test_fifty_fast_keys_are_fifty_judgments_on_fifty_documents",
    "Judgments that are not yet": "campaign/test_page.py::test_offline_then_online",
    "The page sends them": "campaign/test_page.py::test_reloading_in_the_middle_loses_nothing "
    "campaign/test_page.py::test_offline_then_online "
    "campaign/test_page.py::test_a_server_that_is_killed_goes_on_where_it_was",
    "The page of an assessor": "campaign/test_sessions.py::test_a_page_learns_nothing_that_would_sway",
    "Keys of tasks": "campaign/test_sessions.py::test_keys_say_nothing_without_the_secret_of_the_campaign",
    "(An adjudicator sees": "campaign/test_page.py::test_an_adjudicator_sees_the_grades_and_decides",
    "`calipers campaign judge` listens": "campaign/test_judge.py::test_every_person_gets_a_link "
    "campaign/test_judge.py::test_elsewhere_than_on_this_computer",
    "It accepts only requests": "campaign/test_server.py::test_other_addresses_have_nothing "
    "campaign/test_server.py::test_a_cookie_is_of_one_assessor",
    "A token has 256": "campaign/test_sessions.py::test_a_token_is_kept_as_its_digest_only",
    "A link is valid": "campaign/test_sessions.py::test_links_go_on_working_until_they_are_ended",
    "Connections without a valid token": "campaign/test_connections.py::test_an_assessor_goes_first "
    "campaign/test_connections.py::test_files_are_left_for_everything_else",
    "Headers have to arrive": "campaign/test_connections.py::test_a_request_has_to_arrive",
    "At most 20 messages": "campaign/test_connections.py::test_what_is_logged_is_limited",
    "What another process writes": "campaign/test_sessions.py::test_what_another_process_wrote_is_seen "
    "campaign/test_sessions.py::test_only_newer_events_are_applied",
    "Assessors do not wait": "campaign/test_sessions.py::test_assessors_do_not_wait_for_each_other",
    "Content of documents cannot": "campaign/test_page.py::test_nothing_in_a_document_runs_loads_or_leads_away",
    "Text is shown as text": "campaign/test_page.py::test_xml_is_shown_with_its_structure_and_does_nothing "
    "campaign/test_page.py::test_the_frame_alone_is_safe",
    "Ctrl-C stops the server": "campaign/test_page.py::test_ctrl_c_stops_it",
    "Several processes may use": "campaign/test_store.py::test_another_writer_is_waited_for_and_told",
    "Imports, topics, runs": "campaign/test_store.py::test_a_transaction_is_all_or_nothing",
    "`create` never overwrites": "campaign/test_store.py::test_nothing_is_written_over",
    "XML that defines entities": "campaign/test_topics.py::test_what_is_wrong_is_told_with_its_line",
    "Documents are read only": "campaign/test_documents.py::test_folders_that_are_wrong",
    # The command
    "Results are written": "cli/test_cli.py::test_bad_input_is_told_clearly_and_nothing_is_written",
    "On a terminal": "cli/test_watch.py::test_the_line_goes_before_anything_else_is_written "
    "cli/test_watch.py::test_nothing_is_shown_where_nobody_looks",
    "The exit code is the outcome": "fuzzing/test_fuzzing.py::test_what_failed_once_and_some_new_cases",
    "| 0 |": "cli/test_process.py::test_whoever_closes_the_output_the_command_is_done",
    "| 1 |": "cli/test_cli.py::test_requirements_decide_the_exit_code",
    "| 2 |": "cli/test_cli.py::test_usage_errors",
    "| 3 |": "cli/test_cli.py::test_bad_input_is_told_clearly_and_nothing_is_written",
    "| 70 |": "cli/test_process.py::test_an_internal_error_has_a_code_and_a_line_of_its_own",
    "| 71 |": "cli/test_process.py::test_a_lack_of_memory_is_said_plainly",
    "| 130 |": "cli/test_process.py::test_an_interrupt_is_130",
    "An error takes precedence": "cli/test_gates.py::test_an_error_comes_before_a_requirement",
    "If `calipers check`": "cli/test_gates.py::test_a_check_that_fails_does_not_keep_the_others",
    "`calipers trec_eval` ends": "cli/test_trec_eval.py::test_exit_codes",
    "They are 2 for input": "cli/test_trec_eval.py::test_exit_codes",
    # Input
    "Nothing is dropped": "data/test_missing.py::test_rows_with_missing_values_can_be_left_out",
    "Invalid input is an": "laws/test_hostile_arguments.py::test_hostile_arguments",
    "Its message states": "cli/test_cli.py::test_bad_input_is_told_clearly_and_nothing_is_written",
    "Functions such as": "laws/test_hostile_arguments.py::test_hostile_arguments",
    "The first two are": "laws/test_hostile_arguments.py::test_hostile_arguments",
    "Text is UTF-8": "data/test_byte_sources.py::test_a_mark_of_utf_8_is_no_part_of_the_text",
    "Binary tables are validated": "data/test_byte_sources.py::test_a_corrupt_file_is_an_error_and_no_crash",
    "A missing value (NaN": "data/test_missing.py::test_a_missing_value_is_told_with_its_row",
    "It is an error with its location": "data/test_missing.py::test_rows_with_missing_values_can_be_left_out",
    "In `cal.from_values`": "data/test_missing.py::test_a_value_of_a_unit_may_be_missing",
    "Weights are 0": "laws/test_degenerate_data.py::test_weights_beyond_all_use_are_refused",
    "The absolute values": "core/test_moments.py::test_numbers_too_large_are_named",
    "Scores of a run may be infinite": "core/test_trec_reader.py::test_numbers_a_score_may_be",
    # Numbers that come out
    "A number is finite": "laws/test_laws.py::test_what_holds_of_every_measure_of_random_rows",
    "Every number names": "laws/test_public_verbs.py::test_an_estimate_has_an_interval_or_says_why_not",
    "Warnings of NumPy": "fuzzing/test_fuzzing.py::test_what_failed_once_and_some_new_cases",
    # Results
    "Results and measures can be copied": "laws/test_results.py::test_a_result_is_copied_and_pickled "
    "laws/test_results.py::test_results_come_back_from_joblib",
    "A pickle is for the same": "laws/test_results.py::test_a_result_and_its_parts_are_read_back",
    "JSON has schema 2": "laws/test_results.py::test_the_published_schema_is_that_of_the_code",
    "A result is validated": "laws/test_damaged_results.py::test_a_damaged_result_is_refused_or_shown",
    "Files of version 0.1.0": "laws/test_results.py::test_files_of_before_are_read "
    "laws/test_schema_1.py::test_nothing_is_lost",
    "A later version may add": "laws/test_results.py::test_every_object_of_the_schema_is_closed",
    "The meaning of a field": "laws/test_schema_1.py::test_other_schemas_are_refused",
    "Neither Calipers nor": "core/test_threads.py::test_nothing_connects",
    "`calipers campaign judge` accepts": "campaign/test_judge.py::test_every_person_gets_a_link",
    "Spark and Dask": "engines/test_workers.py::test_a_master_that_does_not_answer_is_told_of_at_once",
}


def sentences() -> list[str]:
    """Of the page, without its headings; rows of a table are sentences too."""
    found = []
    for block in re.split(r"\n\n|\n(?=- |\|)", PAGE):
        text = " ".join(block.split())
        if text.startswith("|"):
            found += [text] if re.match(r"\| \d", text) else []
        elif text and not text.startswith("#"):
            split = re.split(
                r"(?<=[.:])\s+(?=[A-Z(`])(?!`?--)|(?<=\.\))\s+", text.removeprefix("- ")
            )
            found += [sentence for sentence in split if sentence]
    return found


@cache
def functions(path: str) -> set[str]:
    """The tests of a file."""
    file = TESTS / path
    if not file.is_file():
        return set()
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_every_sentence_has_a_test() -> None:
    begun = set()
    for sentence in sentences():
        keys = [key for key in PROMISES if sentence.startswith(key)]
        assert keys, f"docs/promises.md: no test is named for: {sentence}"
        begun.add(max(keys, key=len))
    assert sorted(set(PROMISES) - begun) == [], "no sentence of docs/promises.md begins like this"


@pytest.mark.parametrize("beginning", PROMISES)
def test_the_tests_are_there(beginning: str) -> None:
    for name in PROMISES[beginning].split():
        path, _, test = name.partition("::")
        assert test.startswith("test_"), name
        assert test in functions(path), f"there is no test {name}"
