// test-child save|migrate PATH: works until it is killed, and acknowledges each commit with a line.

import Foundation
import Microblog
import ObjectVault
import TestSupport

/// A line that the parent sees at once.
func acknowledge(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }
let arguments = CommandLine.arguments
guard arguments.count == 3 else { exit(64) }
let url = URL(fileURLWithPath: arguments[2])
do {
  switch arguments[1] {
  case "save":
    let store = try await openMicroblog(url)
    for round in 0..<1_000_000 {
      // Each save is one user with ten statuses: half of one must never be seen.
      try await store.write { context in
        let user = context.insert(User.self) { $0.name = "user \(round) \(UUID().uuidString)" }
        for number in 0..<10 {
          context.insert(Status.self) {
            $0.text = "status \(number)"
            $0.createdAt = Date()
            $0.user = user
          }
        }
      }
      acknowledge("saved")
    }
  case "migrate":
    acknowledge("begin")
    _ = try await openMicroblog(url)
    acknowledge("migrated")
  default: exit(64)
  }
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
