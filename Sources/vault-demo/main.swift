// The program `vault-demo [--store PATH] [--keep]`: runs the demo, twice on a new store.

import CipherSQLite
import Foundation
import ObjectVault

let usage = """
  vault-demo: ObjectVault in nine steps.

    vault-demo                          runs in a temporary folder and removes it
    vault-demo --store PATH --keep      keeps the store; a second run continues with it

  """

var path: String?
var keeps = false
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
  switch argument {
  case "--keep": keeps = true
  case "--store" where arguments.first != nil: path = arguments.popFirst()
  case "--help", "-h":
    print(usage)
    exit(0)
  default:
    FileHandle.standardError.write(Data("vault-demo: unknown option \(argument).\n\n\(usage)".utf8))
    exit(64)
  }
}

let temporary = FileManager.default.temporaryDirectory.appendingPathComponent(
  "vault-demo-\(UUID().uuidString)")
let url = path.map { URL(fileURLWithPath: $0) } ?? temporary.appendingPathComponent("microblog.store")
do {
  if path == nil { try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true) }
  let isFirst = !FileManager.default.fileExists(atPath: url.path)
  try await Demo(url: url).run()
  if isFirst { try await Demo(url: url).run() }
  if keeps {
    let profile = try Connection.open(url.path, key: .passphrase("new horse")).unlocked.profile
    let pragmas = profile.shellPragmas(major: Engine.current.cipherMajor).joined(separator: " ")
    print("\nThe store is kept. To read it in the sqlcipher shell:\n")
    print(
      "  sqlcipher -header -cmd \"PRAGMA key = 'new horse'; \(pragmas)\" \(url.path) 'SELECT * FROM User;'")
  } else if isFirst {
    // A store that existed before is the user's.
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: url.path + suffix) }
  }
  try? FileManager.default.removeItem(at: temporary)
} catch {
  FileHandle.standardError.write(Data("vault-demo: \(error)\n".utf8))
  try? FileManager.default.removeItem(at: temporary)
  exit(1)
}
