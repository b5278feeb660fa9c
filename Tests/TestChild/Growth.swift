// The memory that long work takes.

import Foundation
import Microblog
import ObjectVault
import TestSupport

/// The peak memory of the process, in MiB.
private func peak() -> Int {
  var usage = rusage()
  // RUSAGE_SELF, whose type differs between systems.
  _ = getrusage(0, &usage)
  #if canImport(Darwin)
    return Int(usage.ru_maxrss) >> 20
  #else
    return Int(usage.ru_maxrss) >> 10
  #endif
}

/// Fetches, inserts and changes by turns in one transaction.
/// - Returns: The growth of the peak memory after the first tenth of the turns, in MiB.
func growWhileFetching(_ url: URL, turns: Int) async throws -> Int {
  let store = try await openMicroblog(url)
  defer { store.close() }
  return try await store.write { context in
    let user = context.insert(User.self) { $0.name = "first" }
    var start = 0
    for number in 0..<turns {
      if number == turns / 10 { start = peak() }
      _ = try context.fetch(User.self).where("name == %@", "none").first()
      context.insert(User.self) { $0.name = "user \(number)" }
      user.screenName = "first \(number)"
    }
    return peak() - start
  }
}
