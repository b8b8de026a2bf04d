"""Process of the command: streams, error messages and exit codes."""

from __future__ import annotations

import atexit
import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TextIO

from calipers import plugins
from calipers.cli.memory_limit import EXIT_INTERRUPTED, EXIT_NO_MEMORY, announce_end, is_supervised
from calipers.cli.progress_line import ProgressLine, start_progress_line

EXIT_UNMET = 1
EXIT_USAGE = 2
EXIT_BAD_INPUT = 3
EXIT_INTERNAL = 70

#: Signals that end the command after it has removed what it stored, by the exit code of a shell.
_END_SIGNALS = {
    128 + number: number
    for name in ("SIGTERM", "SIGHUP")
    if (number := getattr(signal, name, None)) is not None
}

#: Flag of --debug, at any position of a command line.
DEBUG = "--debug"


def run(command: Callable[[], Any]) -> NoReturn:
    """Run a command as this process, and exit with the code of its outcome."""
    _replace_streams()
    _limit_blas_threads()
    sys.meta_path.insert(0, _PandasBlocker())
    plugins.IMPORT_HOOKS.append(allow_pandas)
    _StandardStream.progress_line = start_progress_line()
    _raise_end_signals()
    try:
        # Outside standalone mode click returns the code of an Exit; commands return None.
        code = command() or 0
    except SystemExit as error:
        code = error.code
    except BaseException as error:  # nothing ends in Python's own exit code, 1
        code = _report_error(error)
    if _StandardStream.progress_line is not None:
        _StandardStream.progress_line.stop()
    try:
        sys.stdout.flush()
    except OSError as error:
        code = code or _report_error(error)
        _redirect_to_null(sys.stdout.fileno())
    announce_end()
    if code in _END_SIGNALS:
        # As if nothing had caught it: who sent it sees that it ended the process.
        signal.signal(_END_SIGNALS[code], signal.SIG_DFL)
        os.kill(os.getpid(), _END_SIGNALS[code])
    if code in (EXIT_NO_MEMORY, EXIT_INTERRUPTED):
        # At once: threads of libraries that found no memory either may never end, or abort the
        # process; and Python may end it by the signal, if that came while it imported something.
        os._exit(code)
    if isinstance(code, int) and _is_own_process():
        # Threads of Arrow that give back what they read while Python ends abort it now and then.
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


class _EndSignal(BaseException):
    """Signal that asks the process to end, raised so that files and folders are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def _raise_end_signals() -> None:
    """Raise an exception on the first signal that would end the process, unless it is handled.

    A second signal ends the process at once, and so does the first one in a forked child.
    """
    process = os.getpid()

    def end(number: int, frame: object) -> NoReturn:
        for each in handled:
            signal.signal(each, signal.SIG_IGN if is_supervised() else signal.SIG_DFL)
        if os.getpid() != process:
            os.kill(os.getpid(), number)
        raise _EndSignal(number)

    handled = [n for n in _END_SIGNALS.values() if signal.getsignal(n) is signal.SIG_DFL]
    with suppress(ValueError):  # outside the main thread
        for number in handled:
            signal.signal(number, end)


def _is_own_process() -> bool:
    """Return whether the process ends after the command, rather than returning to a caller."""
    import calipers

    program = getattr(sys.modules["__main__"], "__file__", None)
    if not program:
        return False
    package = os.path.dirname(os.path.abspath(calipers.__file__))  # noqa: PTH100, PTH120
    is_in_package = os.path.abspath(program).startswith(package + os.sep)  # noqa: PTH100
    name = os.path.splitext(os.path.basename(program))[0]  # noqa: PTH119, PTH122
    return is_in_package or name in ("calipers", "calipers-trec_eval")


#: Variables from which OpenBLAS, NumPy's and SciPy's, takes its number of threads, in its order.
_BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
#: Those that this process has set.
_limited_by: list[str] = []


def _limit_blas_threads() -> None:
    """Let OpenBLAS have one thread, unless the user has set a number.

    Its threads start with NumPy and wait for work in a loop, which took a quarter of the processor
    time of a command on small data. Its work is small here: products of matrices as large as the
    data are computed in `calipers._core`.
    """
    if not any(variable in os.environ for variable in _BLAS_VARIABLES):
        os.environ[_BLAS_VARIABLES[0]] = "1"
        _limited_by.append(_BLAS_VARIABLES[0])


def allow_blas_threads() -> None:
    """Let OpenBLAS have threads, for models of users, if NumPy has not been imported yet."""
    while _limited_by:
        del os.environ[_limited_by.pop()]


class _PandasBlocker:
    """Import hook that blocks pandas in the process of the command.

    Arrow imports pandas, which takes half a second, with the first array that it creates, and the
    command does not use data frames.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise an error for pandas, as called by importlib."""
        if name == "pandas":
            raise ModuleNotFoundError("the command works without pandas", name=name)


def allow_pandas() -> None:
    """Allow the import of pandas, for code that needs it."""
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if not isinstance(finder, _PandasBlocker)
    ]


def write_stderr(text: str) -> None:
    """Write a line to stderr, ignoring errors."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _report_error(error: BaseException) -> int:
    """Report an error, and return its exit code."""
    error = _find_stop(error) or error
    click = sys.modules.get("click")  # without which no error is one of its
    if click is not None and isinstance(error, click.ClickException):
        with suppress(OSError):
            error.show()
        # Those that are no usage errors have 1, which means an unmet requirement here.
        return max(int(error.exit_code), EXIT_USAGE)
    if isinstance(error, KeyboardInterrupt) or (click and isinstance(error, click.Abort)):
        write_stderr("interrupted")
        return EXIT_INTERRUPTED
    if isinstance(error, _EndSignal):
        write_stderr(f"ended by {error}")
        return 128 + error.number
    if isinstance(error, BrokenPipeError):
        return 0  # the reader of our output has gone
    if DEBUG in sys.argv[1:]:
        import traceback

        write_stderr("".join(traceback.format_exception(error)).rstrip())
    if (lack := _find_lack_of_memory(error)) is not None:
        # Those of Python and NumPy say nothing about what was made.
        detail = f": {lack}" if type(lack).__module__.startswith("calipers") else ""
        write_stderr(f"calipers: there is not enough memory for this{detail}")
        return EXIT_NO_MEMORY
    user_error = describe_user_error(error)
    if user_error is None:
        write_stderr(_internal_error_line(error))
        return EXIT_INTERNAL
    code, message = user_error
    write_stderr(f"calipers: {message}")
    return code


def _find_stop(error: BaseException | None) -> BaseException | None:
    """Return the interrupt or signal that an error followed from; an import may replace it."""
    while error is not None and not isinstance(error, KeyboardInterrupt | _EndSignal):
        error = error.__cause__ or error.__context__
    return error


#: What Python and the linker say of a thread or a library for which there is no memory.
_NO_MEMORY_TEXTS = (
    *("can't start new thread", "failed to map segment", "cannot map zero-fill pages"),
    "cannot allocate memory",
)


def _find_lack_of_memory(error: BaseException | None) -> BaseException | None:
    """Return the lack of memory that an error is or followed from: an import may replace it."""
    while error is not None:
        is_refused = isinstance(error, OSError) and error.errno == errno.ENOMEM
        is_unmapped = isinstance(error, ImportError | RuntimeError) and any(
            text in str(error).lower() for text in _NO_MEMORY_TEXTS
        )
        if isinstance(error, MemoryError) or is_refused or is_unmapped:
            return error
        error = error.__cause__ or error.__context__
    return None


def describe_user_error(error: BaseException) -> tuple[int, str] | None:
    """Return the exit code and message of an error that the user can correct; else None."""
    if isinstance(error, OSError):
        is_file = error.filename is not None
        return EXIT_BAD_INPUT, f"{error.filename}: {error.strerror}" if is_file else str(error)
    from calipers.data.errors import InputError
    from calipers.measures import UnknownMeasureError
    from calipers.plugins import PluginError

    if isinstance(error, UnknownMeasureError):
        return EXIT_USAGE, str(error)
    return (EXIT_BAD_INPUT, str(error)) if isinstance(error, InputError | PluginError) else None


def _internal_error_line(error: BaseException) -> str:
    """Return one line on an internal error: the error, and where to report it."""
    message = " ".join(str(error).split())
    description = f"{type(error).__name__}: {message[:300]}" if message else type(error).__name__
    attachment = "the traceback above" if DEBUG in sys.argv[1:] else f"what {DEBUG} adds to this"
    request = f"please report it {_issue_tracker()}, with {attachment}"
    return f"calipers: internal error: {description}; {request}"


def _issue_tracker() -> str:
    """Return where errors are reported, according to the metadata of the package."""
    from importlib.metadata import PackageNotFoundError, metadata

    with suppress(PackageNotFoundError):
        for text in metadata("calipers").get_all("Project-URL") or ():
            label, _, address = text.partition(", ")
            if label == "Issues":
                return f"at {address}"
    return "as an issue of Calipers"


# --- Streams --------------------------------------------------------------------------------------


def _replace_streams() -> None:
    """Replace the standard streams by writable ones, even if they were closed."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Else the next file to be opened took its place. This takes the lowest number free.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _open_stream(sys.stdout, 1, "standard output")
    sys.stderr = _open_stream(sys.stderr, 2, "standard error")


def _open_stream(stream: TextIO | None, descriptor: int, name: str) -> TextIO:
    """Return a stream for a descriptor; a stream that was substituted by others is kept."""
    if stream is None:
        return io.TextIOWrapper(
            io.BufferedWriter(_StandardStream(descriptor, name)), encoding="utf-8"
        )
    if not isinstance(stream, io.TextIOWrapper) or not _has_descriptor(stream, descriptor):
        return stream
    if os.name != "posix":
        stream.reconfigure(errors="backslashreplace")
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_StandardStream(descriptor, name)),
        encoding=stream.encoding,
        # A terminal that lacks a character shows its escape; the command does not fail.
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _has_descriptor(stream: TextIO, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor
    except OSError:
        return False


class _StandardStream(io.FileIO):
    """Standard stream that ignores a reader that has closed the pipe.

    Later output is discarded, so that the exit code is that of the result, however much of it is
    read. The progress line is cleared before anything is written.
    """

    progress_line: ProgressLine | None = None

    def __init__(self, descriptor: int, display_name: str) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._display_name = display_name

    def write(self, data: Any) -> int:
        """Write data, and return the number of bytes."""
        if self.progress_line is not None:
            self.progress_line.clear()
        try:
            return super().write(data)
        except BrokenPipeError:
            _redirect_to_null(self.fileno())
            return memoryview(data).nbytes
        except BlockingIOError:
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._display_name) from None


def _redirect_to_null(descriptor: int) -> None:
    """Redirect a descriptor to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
