// Migrations beside other processes: waiting, files of killed migrations, and errors in old programs.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct MigrationWaiting {
  static let base = "create entity Lone {\n attribute name string\n attribute old int optional\n}"
  static let schema = Schema { Entity(Lone.self) }

  private func lab() async throws -> (MigrationLab, MigrationSet) {
    let lab = try await MigrationLab(Self.base, fill: ["INSERT INTO Lone(id, name) VALUES (1, 'a')"])
    let step = try MigrationStep(
      number: 2, name: "step2", text: "format: 1\nallow: lossy:Lone.old\n[up]\ndrop attribute Lone.old")
    return (lab, try MigrationSet(lab.set([Self.base]).steps + [step]))
  }

  @Test func `opening waits for another process's migration without a time limit, and reports it`()
    async throws
  {
    let (lab, set) = try await lab()
    var configuration = Store.Configuration()
    configuration.busyTimeout = 0.1
    let (url, settings) = (lab.url, configuration)
    let connection = try lab.open()
    try connection.execute("BEGIN EXCLUSIVE")
    await #expect(throws: SQLError.self) {
      _ = try await Store.open(
        at: url, key: testKey, schema: Self.schema, migrations: .set(set), configuration: settings)
    }
    let progress = Progress(totalUnitCount: 1)
    var mark = MigrationMark(url.path)
    #expect(mark != nil && MigrationMark(url.path) == nil)
    let opening = Task {
      try await Store.open(
        at: url, key: testKey, schema: Self.schema, migrations: .set(set), configuration: settings,
        progress: progress)
    }
    let end = Date(timeIntervalSinceNow: 60)
    while progress.userInfo[.storeIsWaitingFor] == nil, Date() < end { await Task.yield() }
    #expect(progress.userInfo[.storeIsWaitingFor] != nil)
    connection.rollback()
    connection.close()
    mark = nil
    let store = try await opening.value
    #expect(store.opening.version == 2)
    store.close()
    #expect(!lab.folder.names.contains { $0.contains(".migrating") })
  }

  @Test func `a process that waits for the lock sets no mark, so a mark means a running migration`()
    async throws
  {
    let (lab, set) = try await lab()
    let (url, connection) = (lab.url, try lab.open())
    // This lock permits readers.
    try connection.execute("BEGIN IMMEDIATE")
    let waits = Locked<[Bool]>([])
    var settings = Store.RunSettings(
      profile: nil, busyTimeout: 1200, makesBackups: false, losses: [], progress: nil,
      waits: { _ in
        waits.withLock { $0.append(MigrationMark.isHeld(url.path)) }
      })
    settings.migrationTimeout = nil
    let run = Task { [settings] in
      try await Store.run(.latest, at: url, key: testKey, migrations: set, settings: settings)
    }
    let end = Date(timeIntervalSinceNow: 600)
    while waits.withLock({ $0.isEmpty }), Date() < end { try await Task.sleep(for: .milliseconds(5)) }
    #expect(waits.withLock { $0 } == [false] && !MigrationMark.isHeld(url.path))
    connection.rollback()
    connection.close()
    #expect(try await run.value.version == 2)
  }

  // Without a write-ahead log the engine commits only while no connection reads.
  @Test func `waiting for a reader before the commit is not reported as waiting for a migration`()
    async throws
  {
    let (lab, set) = try await lab()
    let url = lab.url
    let reader = try lab.open()
    #expect(try reader.value("PRAGMA journal_mode = delete")?.string == "delete")
    try reader.execute("BEGIN")
    _ = try reader.value("SELECT count(*) FROM Lone")
    let told = Locked<[RunWait]>([])
    let settings = Store.RunSettings(
      profile: nil, busyTimeout: 600, makesBackups: false, losses: [], progress: nil,
      waits: { wait in told.withLock { $0.append(wait) } })
    let run = Task {
      try await Store.run(.latest, at: url, key: testKey, migrations: set, settings: settings)
    }
    let end = Date(timeIntervalSinceNow: 600)
    while told.withLock({ $0.isEmpty }), Date() < end { try await Task.sleep(for: .milliseconds(5)) }
    #expect(told.withLock { $0 } == [.lock(seconds: 600)] && MigrationMark.isHeld(url.path))
    reader.rollback()
    reader.close()
    #expect(try await run.value.version == 2)
    #expect(told.withLock { $0 } == [.lock(seconds: 600)])
  }

  @Test func `a mark that is set while another process removes its own is visible to others`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.store")
    let (held, seen) = (Locked(0), Locked(0))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<200 {
            // Lets the other task run in between.
            usleep(500)
            guard let mark = MigrationMark(path) else { continue }
            held.withLock { $0 += 1 }
            if MigrationMark.isHeld(path) { seen.withLock { $0 += 1 } }
            withExtendedLifetime(mark) {}
          }
        }
      }
    }
    #expect(held.withLock { $0 } > 200 && held.withLock { $0 } == seen.withLock { $0 })
    #expect(folder.names.isEmpty)
  }

  @Test func `the next migration removes a killed migration's unfinished copy, and nothing else`()
    async throws
  {
    let (lab, set) = try await lab()
    let left = "lab.store.v1-20200101T000000Z.backup.unfinished"
    // The last name has the form of a copy's name, but the file is a user's.
    let others = [
      "lab.store.v1-x.backup.unfinished", "other.store.v1-20200101T000000Z.backup.unfinished",
      "lab.store.v1-20200102T000000Z.backup.unfinished",
    ]
    try FileManager.default.copyItem(atPath: lab.url.path, toPath: lab.folder.path(left))
    for name in others { try lab.folder.write(Data(repeating: 7, count: 4096), to: name) }
    let outcome = try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    let names = lab.folder.names
    #expect(!names.contains(left) && Set(names).isSuperset(of: others))
    let backup = try #require(outcome.backup)
    #expect(names.count { $0.hasSuffix(".backup") } == 1 && names.contains(backup.lastPathComponent))
    #expect(!names.contains(backup.lastPathComponent + ".unfinished"))
  }

  @Test func `an old program's reads after a migration report the migration`() async throws {
    let (lab, set) = try await lab()
    let old = Schema { Entity(Former.Lone.self) }
    let store = try await Store.open(
      at: lab.url, key: testKey, schema: old, migrations: .set(lab.set([Self.base])))
    #expect(try await store.read { try $0.fetch(Former.Lone.self).all().map(\.old) } == [nil])
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: set)
    await #expect(throws: StoreError.storeMigratedElsewhere(file: lab.url.path)) {
      _ = try await store.read { try $0.fetch(Former.Lone.self).all().count }
    }
    let context = store.makeContext()
    #expect(throws: StoreError.storeMigratedElsewhere(file: lab.url.path)) {
      _ = try context.fetch(Former.Lone.self).where("old == 1").count()
    }
  }

  @Test func `a context reports a migration at its next read of any kind, even if its SQL still works`()
    async throws
  {
    let (lab, _) = try await lab()
    let old = Schema { Entity(Former.Lone.self) }
    let base = try lab.set([Self.base])
    let more = try MigrationStep(
      number: 2, name: "more", text: "format: 1\n[up]\nadd attribute Lone.more int default 0\n")
    let store = try await Store.open(at: lab.url, key: testKey, schema: old, migrations: .set(base))
    let (context, other) = (store.makeContext(), store.makeContext())
    let loaded = try context.fetch(Former.Lone.self).one()
    let fault = try other.fetch(Former.Lone.self).one()
    other.refresh(fault)
    // A write of the store itself is no migration.
    try await store.write { try $0.fetch(Former.Lone.self).one().old = 7 }
    #expect(try context.fetch(Former.Lone.self).count() == 1)
    _ = try await Store.migrate(at: lab.url, key: testKey, migrations: MigrationSet(base.steps + [more]))
    let told = StoreError.storeMigratedElsewhere(file: lab.url.path)
    #expect(throws: told) { try context.fetch(Former.Lone.self).all().count }
    // The error repeats.
    #expect(throws: told) { try context.fetch(Former.Lone.self).count() }
    #expect(throws: told) { try other.existing(fault.id) }
    _ = fault.name
    #expect(other.faultErrors.map { "\($0)" } == ["\(told)"])
    #expect(loaded.name == "a")
    store.close()
  }

  @Test func `the next opening removes temporary files of a killed copy, and nothing else`() async throws {
    let (lab, _) = try await lab()
    let copy = "lab.store.v1-20200101T000000Z.backup.unfinished"
    let left = try TemporaryName.random(for: copy)
    let held = try TemporaryName.random(for: copy)
    let others = [
      // Files of another store, of another kind and of similar names, and one that is locked.
      try TemporaryName.random(for: "other.store.v1-20200101T000000Z.backup.unfinished"),
      try TemporaryName.random(for: "lab.store.v1-20200101T000000Z.backup.mine"),
      String(left.dropLast()) + (left.hasSuffix("0") ? "1" : "0"), "\(copy).new-0123456789abcdef", held,
    ]
    for name in [left, left + "-wal"] + others { try lab.folder.write(Data("x".utf8), to: name) }
    let descriptor = unsafe open(lab.folder.path(held), O_RDONLY)
    #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    let schema = Schema { Entity(Former.Lone.self) }
    // A killed process leaves its mark. Without a mark, opening does not search the folder.
    let sound = try await Store.open(
      at: lab.url, key: testKey, schema: schema, migrations: .set(lab.set([Self.base])))
    sound.close()
    #expect(lab.folder.names.contains(left))
    for migrations in [Store.Migrations.set(try lab.set([Self.base])), .automatic] {
      try lab.folder.write(Data(), to: DatabasePath.split(MigrationMark.path(of: lab.url.path)).name)
      let store = try await Store.open(at: lab.url, key: testKey, schema: schema, migrations: migrations)
      store.close()
      let names = Set(lab.folder.names)
      #expect(
        !names.contains(left) && !names.contains(left + "-wal") && names.isSuperset(of: others), "\(names)")
      #expect(!names.contains { $0.contains(".migrating") })
      try lab.folder.write(Data("x".utf8), to: left)
    }
    close(descriptor)
  }
}

/// The classes of an older program.
enum Former {
  final class Lone: ManagedObject {
    @Attribute var name: String
    @Attribute var old: Int?
  }
}
