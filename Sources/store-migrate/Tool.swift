import StoreMigrateKit

@main struct Tool { static func main() { StoreMigrate.start() } }
