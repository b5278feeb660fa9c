// The tool of an app whose model is in the file that `MODEL_FILE` names, which a test has written.

import Foundation
import ObjectVault
import StoreMigrateKit

@main struct Tool {
  static func main() async throws {
    guard let path = ProcessInfo.processInfo.environment["MODEL_FILE"] else { return }
    await StoreMigrate.main(model: try Schema(json: String(contentsOfFile: path, encoding: .utf8)))
  }
}
