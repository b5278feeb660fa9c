// The microblog's own store-migrate, with its steps and its classes.

import Foundation
import Microblog
import Migrations
import ObjectVault
import StoreMigrateKit

@main struct Tool {
  static func main() {
    var steps = MicroblogMigrations.steps
    // For the test of a step that cannot be read.
    if let text = ProcessInfo.processInfo.environment["MICROBLOG_STEP_7"] {
      steps.append(MigrationSet.Embedded(number: 7, name: "more", checksum: "s1:0", text: text))
    }
    StoreMigrate.start(
      embedded: steps, model: microblog,
      transforms: [
        .objects("shout") { user, _ in user["loud"] = (user["name"] as String).uppercased() }
      ], appVersion: ProcessInfo.processInfo.environment["MICROBLOG_VERSION"])
  }
}
