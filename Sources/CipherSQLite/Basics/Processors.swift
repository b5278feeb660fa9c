// How many threads are worth having at once, and whether there can be any.

private import CVaultShims

/// How many processors this process may use, 1 at least: those that it is bound to, however many the machine has.
///
/// Whoever asks often keeps the answer: it is a call of the system.
package func usableProcessors() -> Int { Int(vault_usable_processors()) }

/// Tries whether this process can have more threads at once. Dispatch and Swift's tasks wait without a word for a thread that
/// the system does not give.
/// - Parameter count: How many, up to 8.
/// - Returns: The error of the system for the one that it does not give; nil where all were there.
package func missingThreads(of count: Int32) -> Int32? {
  let code = vault_try_threads(count)
  return code == 0 ? nil : code
}
