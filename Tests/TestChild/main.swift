// test-child MODE PATH: does what the mode names, in a process of its own. Most modes work until they are
// killed, and acknowledge each commit with a line.

import CipherSQLite
import Foundation
import Microblog
import ObjectVault
import TestSupport

/// Prints a line that the parent sees at once.
func acknowledge(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }
let arguments = ProgramArguments.all.map(\.shown)
if arguments.dropFirst().first == "arguments" {
  for word in arguments { acknowledge(word) }
  exit(0)
}
guard arguments.count == 3 else { exit(64) }
let url = URL(fileURLWithPath: arguments[2])
do {
  switch arguments[1] {
  case "save":
    let store = try await openMicroblog(url)
    for round in 0..<1_000_000 {
      // Each save is one user with ten statuses: a part of it must never be visible.
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
  case "save-recorded": try await saveRecorded(url)
  case "save-undone": try await saveUndone(url)
  case "enqueue": try await enqueueWrites(url)
  case "processors": acknowledge("\(usableProcessors())")
  case "migrate":
    acknowledge("begin")
    _ = try await openMicroblog(url)
    acknowledge("migrated")
  case "downgrade":
    acknowledge("begin")
    // Only by the steps that the store contains.
    _ = try await Store.downgrade(
      at: url, key: testKey, to: 1, migrations: MigrationSet([]), allowing: ["User.town", "Town"])
    acknowledge("downgraded")
  case let mode where mode.hasPrefix("lead-each-"):
    try await leadByStep(url, to: Int(mode.dropFirst(10)) ?? 0)
  case let mode where mode.hasPrefix("lead-copied-"):
    try await lead(url, to: Int(mode.dropFirst(12)) ?? 0, copies: true)
  case let mode where mode.hasPrefix("lead-"):
    try await lead(url, to: Int(mode.dropFirst(5)) ?? 0, copies: false)
  case "use-old", "use-new": try await useStore(url, isOld: arguments[1] == "use-old")
  case "use-new-held": try await useStore(url, isOld: false, progress: HeldRun(totalUnitCount: 0))
  case "rekey":
    let keys = [childKeys.first, childKeys.second]
    var index = (try? Connection.open(url.path, key: keys[0])) == nil ? 1 : 0
    let pool = try ConnectionPool(path: url.path, key: keys[index])
    acknowledge("begin")
    for _ in 0..<1_000_000 {
      index = 1 - index
      try pool.rekey(to: keys[index])
      acknowledge("rekeyed")
    }
  case "rekey-alone": try rekeyAlone(url.path)
  case "rekey-full": try rekeyOnFullDisk(url.path)
  case "resettle":
    let pool = try ConnectionPool(path: url.path, key: childKeys.first)
    acknowledge("begin")
    for _ in 0..<1_000_000 {
      var profile = pool.profile
      profile.pageBytes = profile.pageBytes == 4096 ? 8192 : 4096
      try pool.rekey(to: childKeys.first, profile: profile)
      acknowledge("resettled")
    }
  case "rotate":
    var keys = try KeyFile.open(at: url.path + ".keys", unlock: childKeys.token)
    let pool = try ConnectionPool(path: url.path, key: .keyFile(url.path + ".keys", unlock: childKeys.token))
    // Opening may have completed a rotation, and so changed the key file.
    keys = try KeyFile.open(at: url.path + ".keys", unlock: childKeys.token)
    acknowledge("begin")
    for _ in 0..<1_000_000 {
      keys = try keys.rotate(pool, keeping: ["token": childKeys.token])
      // A key file has no space for all of them. The first one is that of the other files.
      for former in try KeyFile.generations(at: keys.path).dropFirst(4) where former.number > 1 {
        try keys.forgetGeneration(former.number)
      }
      acknowledge("rotated")
    }
  case "encrypt", "export", "backup", "restore": try repeatCopies(arguments[1], url.path)
  case "slots": try repeatSlotChanges(url.path)
  case "move": acknowledge("\(try moveBetweenAccounts(url.path, seconds: childSeconds))")
  case "move-on": try moveBetweenAccounts(url.path, seconds: 1e6) { acknowledge("moved") }
  case "read": acknowledge(try readAccounts(url.path, seconds: childSeconds).map { "\($0)" } ?? "another sum")
  case "lock":
    var settings = Connection.Configuration()
    settings.busyTimeout = 0
    let connection = try Connection.open(url.path, key: childKeys.first, configuration: settings)
    do {
      try connection.begin(.immediate)
      acknowledge("free")
    } catch SQLError.busy { acknowledge("busy") }
  case "memory":
    // A secret that is retained is found: otherwise the search would prove nothing.
    let held = Secrets.raw.reveal { $0.map { $0 } }
    let control = try foundInMemory(Secrets.all)
    acknowledge("control \(control.count)")
    withExtendedLifetime(held) {}
    let secret = try SecureBytes.random(count: 32)
    let place = secret.withBytes { UInt(bitPattern: $0.baseAddress) }
    acknowledge("flags \(try mappingFlags(place))")
    withExtendedLifetime(secret) {}
  case "memory-keys":
    try useKeys(url.path)
    for line in try foundInMemory(Secrets.all) { acknowledge(line) }
    acknowledge("searched")
  case "memory-dump":
    try useKeys(url.path)
    // Still retained, but in memory that is excluded from dumps.
    let key = Secrets.raw.reveal { Key.raw($0) }
    let control = Secrets.control.reveal { $0.map { $0 } }
    acknowledge("ready")
    _ = readLine()
    withExtendedLifetime((key, control)) {}
  case "dump-search":
    for line in try foundInFile(Secrets.all + [Secrets.control], url.path) { acknowledge(line) }
    acknowledge("searched")
  case "create-relative": try createRelative(arguments[2])
  case "no-descriptors": openWithoutDescriptors(url.path)
  case "full-disk": try workOnFullDisk(url.path)
  case "full-disk-objects": try await saveObjectsOnFullDisk(url)
  case "killed-save": try await saveUntilKilled(arguments[2])
  case "measure-lead": try await leadAndMeasure(url)
  case "create-once": acknowledge(try createOnce(url.path))
  case "fetch-and-insert": acknowledge("\(try await growWhileFetching(url, turns: 5000))")
  case "visit": visit(url.path, seconds: childSeconds * 2, atLeast: 8)
  case "inspect": inspect(url.path)
  case "make-files": try makeFiles(url.path)
  case "exit": try exitAtWork(url.path)
  case "temporary-hold": try await holdTemporaryStores()
  case "temporary-fail": try await failAtTemporaryStore()
  case "hold": try await holdStore(url)
  default: exit(64)
  }
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
