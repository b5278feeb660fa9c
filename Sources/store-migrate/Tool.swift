import StoreMigrateKit

@main struct Tool { static func main() async { await StoreMigrate.main() } }
