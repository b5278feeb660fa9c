// The number of processors that this process may use, and a check whether it can start threads.

private import CVaultShims

/// Returns the number of processors that this process may use, at least 1. CPU affinity is respected, so
/// the number may be lower than that of the machine.
///
/// Each call is a system call. Callers that need the number often store it.
package func usableProcessors() -> Int { Int(vault_usable_processors()) }

/// Checks whether this process can have `count` more threads at once. Without this check, a program could
/// hang without any message: Dispatch and Swift's tasks wait for a thread that the system does not start.
/// - Parameter count: The number of threads, up to 8.
/// - Returns: The system's error for the first thread that could not be started; nil if all could.
package func threadStartError(of count: Int32) -> Int32? {
  let code = vault_try_threads(count)
  return code == 0 ? nil : code
}
