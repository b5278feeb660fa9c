// How many threads are worth having at once.

private import CVaultShims

/// How many processors this process may use, 1 at least: those that it is bound to, however many the machine has.
///
/// Whoever asks often keeps the answer: it is a call of the system.
package func usableProcessors() -> Int { Int(vault_usable_processors()) }
