// The microblog's own store-migrate, which knows its steps and its classes.

import Microblog
import Migrations
import ObjectVault
import StoreMigrateKit

@main struct Tool {
  static func main() async {
    let steps = try? MigrationSet.embedded(MicroblogMigrations.steps)
    await StoreMigrate.main(
      migrations: steps, model: microblog,
      transforms: [
        .objects("shout") { user, _ in user["loud"] = (user["name"] as String).uppercased() }
      ])
  }
}
