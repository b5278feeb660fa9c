// Eight steps on a package index, with the counts of Python after each, in all the ways in which steps
// are run.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

extension PackageIndex {
  @Suite struct Migrations {
    let folder: TemporaryFolder
    let url: URL

    init() throws {
      folder = try TemporaryFolder()
      url = folder.url.appendingPathComponent("index.store")
    }

    /// The facts of a range of versions, in SQL on the tables of these versions.
    static let facts: [(version: ClosedRange<Int>, name: String, sql: String)] = [
      (1...9, "Package", "SELECT count(*) FROM Package"),
      (1...9, "Dependency", "SELECT count(*) FROM Dependency"),
      (1...9, "Maintainer", "SELECT count(*) FROM Maintainer"),
      (1...7, "Tag", "SELECT count(*) FROM Tag"),
      (1...7, "tag links", "SELECT count(*) FROM Package_tags"),
      (1...3, "Version", "SELECT count(*) FROM Version"),
      (4...9, "Version", "SELECT count(*) FROM \"Release\""),
      (1...4, "section is libs", "SELECT count(*) FROM Package WHERE section = 'libs'"),
      (1...8, "Fingerprint", "SELECT count(*) FROM Fingerprint"),
      (1...9, "kind depends", "SELECT count(*) FROM Dependency WHERE kind = 'depends'"),
      (2...9, "virtual", "SELECT count(*) FROM Package WHERE isVirtual"),
      (2...9, "alternatives", "SELECT count(*) FROM Dependency WHERE isAlternative"),
      (
        1...2, "thousandths",
        "SELECT sum(ifnull(installedSize, 0) / 1024 * 1000 + ifnull(installedSize, 0) % 1024 * 1000 / 1024) FROM Version"
      ),
      (3...3, "thousandths", "SELECT sum(CAST(replace(installedSize, '.', '') AS INTEGER)) FROM Version"),
      (4...9, "thousandths", "SELECT sum(CAST(replace(installedSize, '.', '') AS INTEGER)) FROM \"Release\""),
      (1...2, "priority 1", "SELECT count(*) FROM Version WHERE priority = 'important'"),
      (
        1...2, "priority 4",
        "SELECT count(*) FROM Version WHERE priority NOT IN ('required', 'important', 'standard', 'optional')"
      ),
      (3...3, "priority 1", "SELECT count(*) FROM Version WHERE priority = 1"),
      (4...9, "priority 4", "SELECT count(*) FROM \"Release\" WHERE priority = 4"),
      (5...9, "Section", "SELECT count(*) FROM Section"),
      (5...9, "Section in main", "SELECT count(*) FROM Section WHERE area = 'main'"),
      (
        6...9, "section is libs",
        "SELECT count(*) FROM Package p JOIN Section s ON s.id = p.section_id WHERE s.name = 'libs'"
      ),
      (
        4...6, "maintainer links",
        "SELECT count(*) FROM (SELECT DISTINCT package_id, maintainer_id FROM \"Release\" WHERE maintainer_id NOT NULL)"
      ),
      (
        4...6, "several maintainers",
        "SELECT count(*) FROM (SELECT 1 FROM \"Release\" GROUP BY package_id HAVING count(DISTINCT maintainer_id) > 1)"
      ),
      (7...9, "maintainer links", "SELECT count(*) FROM Maintainer_packages"),
      (7...9, "mails", "SELECT count(mail) FROM Maintainer"),
      (
        8...9, "untagged",
        "SELECT count(*) FROM Package_tags l JOIN Tag t ON t.id = l.Tag_id WHERE t.name = 'special::untagged'"
      ),
      (9...9, "digests", "SELECT count(digest) FROM \"Release\""),
    ]

    /// Compares the facts of a version with Python's counts, and the tables with the model.
    private func check(_ version: Int, _ counts: PackageCounts) throws {
      let connection = try Connection.open(url.path, key: testKey)
      defer { connection.close() }
      try StoreInfo.prepare(connection)
      for fact in Self.facts where fact.version.contains(version) {
        counts.expect(fact.name, try connection.value(sql: fact.sql)?.int64.map { Int($0) })
      }
      #expect(try connection.foreignKeyViolations().isEmpty)
      let info = try StoreInfo(connection)
      #expect(try info.version == version && info.drift(connection).isEmpty)
      // Each step checks the values that it wrote. All values are checked again after the retyping and at
      // the end.
      if [3, 9].contains(version) { #expect(try info.valueFindings(connection).isEmpty) }
    }

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"), arguments: PackageIndexFile.available)
    func `each step that is rolled back and run again gives Python's counts before and after it`(
      _ kind: PackageIndexFile
    ) async throws {
      let index = try ImportedIndexes.of(kind)
      try await index.store.backup(to: url)
      let all = try PackageIndexSteps.through(9)
      for version in 2...9 {
        let (steps, before) = (try all.upTo(version), try physicalHash(url))
        try await Store.migrate(at: url, key: testKey, migrations: steps, makesBackups: false)
        let after = try physicalHash(url)
        try await takeBack(to: version - 1)
        try check(version - 1, index.counts)
        #expect(try physicalHash(url) == before)
        try await Store.migrate(at: url, key: testKey, migrations: steps, makesBackups: false)
        try check(version, index.counts)
        #expect(try physicalHash(url) == after)
      }
    }

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"), arguments: PackageIndexFile.available)
    func `eight steps that are rolled back at once and run again give Python's counts`(
      _ kind: PackageIndexFile
    ) async throws {
      let index = try ImportedIndexes.of(kind)
      try await index.store.backup(to: url)
      let (all, first) = (try PackageIndexSteps.through(9), try physicalHash(url))
      try await Store.migrate(at: url, key: testKey, migrations: all, makesBackups: false)
      let last = try physicalHash(url)
      try await takeBack(to: 1)
      try check(1, index.counts)
      #expect(try physicalHash(url) == first)
      let outcome = try await Store.migrate(at: url, key: testKey, migrations: all, makesBackups: false)
      #expect(outcome.steps == Array(2...9))
      try check(9, index.counts)
      #expect(try physicalHash(url) == last)
    }

    /// Rolls back by the down steps in the store.
    private func takeBack(to version: Int) async throws {
      let carried = try MigrationSet([])
      let plan = try await Store.planDowngrade(at: url, key: testKey, to: version, migrations: carried)
      try await Store.downgrade(
        at: url, key: testKey, to: version, migrations: carried, makesBackups: false,
        allowing: Set(plan.unallowedLosses))
    }

    private func physicalHash(_ url: URL) throws -> SQLValue? {
      let connection = try Connection.open(url.path, key: testKey)
      defer { connection.close() }
      return try connection.value("SELECT value FROM vault_meta WHERE key = 'physicalHash'")
    }

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"), arguments: PackageIndexFile.available)
    func `each of eight steps keeps Python's counts and leaves the tables of a new store`(
      _ kind: PackageIndexFile
    ) async throws {
      let index = try ImportedIndexes.of(kind)
      try await index.store.backup(to: url)
      try check(1, index.counts)
      for version in 2...9 {
        let steps = try PackageIndexSteps.through(version)
        let outcome = try await Store.migrate(
          at: url, key: testKey, migrations: steps, makesBackups: false)
        #expect(outcome.steps == [version])
        try check(version, index.counts)
        let new = folder.url.appendingPathComponent("new\(version).store")
        try await Store.create(at: new, key: testKey, migrations: steps)
        #expect(try physicalHash(new) == physicalHash(url))
      }
      let connection = try Connection.open(url.path, key: testKey)
      defer { connection.close() }
      #expect(try connection.findings().isEmpty)
    }

    static let queries: [IndexQuery] = [
      IndexQuery("virtual", LastIndex.Package.self) { try $0.where(#Predicate { $0.isVirtual }) },
      IndexQuery("section is libs", LastIndex.Package.self, "section.name == 'libs'"),
      IndexQuery(
        "package outside of main", LastIndex.Package.self, "section != nil AND section.area != 'main'"),
      IndexQuery("needs in libs of libs", LastIndex.Dependency.self) {
        try $0.where(#Predicate { $0.release?.package?.section?.name == "libs" })
          .where(#Predicate { $0.target?.section?.name == "libs" })
      },
      IndexQuery(
        "looked after by lists", LastIndex.Package.self, "ANY maintainers.mail ENDSWITH '@lists.debian.org'"),
      IndexQuery("several maintainers", LastIndex.Package.self, "maintainers.@count > 1"),
      IndexQuery("untagged", LastIndex.Package.self) {
        try $0.where(#Predicate { $0.tags.contains { $0.name == "special::untagged" } })
      },
      IndexQuery("digests", LastIndex.Release.self, "digest != nil"),
      IndexQuery("beyond 100.5 MiB", LastIndex.Release.self) {
        let bound = Decimal(1005) / 10
        return try $0.where(#Predicate { $0.installedSize > bound })
      },
      IndexQuery("packages that matter", LastIndex.Package.self, "ANY releases.priority <= 2"),
      IndexQuery(
        "alternative needs of virtual packages", LastIndex.Dependency.self,
        "isAlternative AND target.isVirtual"),
      IndexQuery("nobody needs", LastIndex.Package.self, "needed.@count == 0"),
      IndexQuery("packages that need python3", LastIndex.Package.self) {
        try $0.where(
          #Predicate { $0.releases.contains { $0.dependencies.contains { $0.target?.name == "python3" } } })
      },
    ]

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"), arguments: PackageIndexFile.available)
    func `an opening runs all eight steps, and the last classes find Python's counts`(
      _ kind: PackageIndexFile
    ) async throws {
      let index = try ImportedIndexes.of(kind)
      let counts = index.counts
      try await index.store.backup(to: url)
      let store = try await Store.open(
        at: url, key: testKey, schema: LastIndex.schema, migrations: .set(PackageIndexSteps.through(9)))
      defer { store.close() }
      #expect(store.opening.migratedSteps == Array(2...9))
      #expect(store.opening.backup != nil)
      for query in Self.queries { counts.expect(query.name, try await store.read(query.count)) }
      try await store.read { context in
        let roomy = try context.fetch(LastIndex.Release.self).sorted(by: \.installedSize, .reverse)
          .sorted(by: \.package?.name).sorted(by: \.number).sorted(by: \.architecture)
          .offset(40).limit(20).prefetch(\.package).all()
        counts.expect("roomiest", roomy.map { "\($0.package?.name ?? "") \($0.number)" })
      }
      #expect(try await store.verify().isEmpty)
      let popular = try counts.first(of: "popular")
      try await store.write { context in
        context.delete(
          try context.fetch(LastIndex.Package.self).where(#Predicate { $0.name == popular }).one())
      }
      try await store.read { context in
        counts.expect("needs without the popular", try context.fetch(LastIndex.Dependency.self).count())
        counts.expect("versions without the popular", try context.fetch(LastIndex.Release.self).count())
      }
      #expect(try await store.verify().isEmpty)
    }

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"), arguments: PackageIndexFile.available)
    func `store-migrate plans, runs and verifies the eight steps`(_ kind: PackageIndexFile) async throws {
      let index = try ImportedIndexes.of(kind)
      try await index.store.backup(to: url, key: .passphrase("horse"))
      let files = folder.url.appendingPathComponent("Migrations")
      try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
      for step in try PackageIndexSteps.through(9).steps {
        let text = PackageIndexSteps.texts[step.number - 1].text
        try Data(text.utf8).write(to: files.appendingPathComponent(step.fileName))
      }
      func run(_ command: String) throws -> ToolResult {
        try runTool(
          builtExecutable("store-migrate"), [command, url.path, "-m", files.path, "--no-input"],
          environment: ["STORE_MIGRATE_KEY": "horse"])
      }
      let plan = try run("plan")
      #expect(plan.status == 0 && plan.output.contains("CREATE TABLE \"Section\""), "\(plan.errors)")
      let up = try run("up")
      #expect(up.status == 0 && up.output.contains("0009 fingerprints"), "\(up.output)\(up.errors)")
      #expect(folder.names.count { $0.hasSuffix(".backup") } == 1)
      let verify = try run("verify")
      #expect(verify.status == 0, "\(verify.output)\(verify.errors)")
      #expect(try run("status").output.contains("9 of 9"))
      let connection = try Connection.open(url.path, key: .passphrase("horse"))
      defer { connection.close() }
      for fact in Self.facts where fact.version.contains(9) {
        index.counts.expect(fact.name, try connection.value(sql: fact.sql)?.int64.map { Int($0) })
      }
    }
  }
}
