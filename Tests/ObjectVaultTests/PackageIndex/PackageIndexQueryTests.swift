// Queries on a package index, compared with Python's counts of the file.

import Foundation
import ObjectVault
import TestSupport
import Testing

/// The tests of the package index, which share the imported stores.
@Suite(.tags(.sampled, .slow), .serialized, .timeLimit(.minutes(60)), ImportedIndexes()) enum PackageIndex {}

/// A number of objects in the store, which Python counts under the same name.
struct IndexQuery: Sendable {
  let name: String
  let count: @Sendable (ObjectContext) throws -> Int

  init<Object: ManagedObject>(
    _ name: String, _ type: Object.Type, _ narrow: @escaping @Sendable (Fetch<Object>) throws -> Fetch<Object>
  ) {
    self.name = name
    count = { try narrow($0.fetch(type)).count() }
  }

  init<Object: ManagedObject>(_ name: String, _ type: Object.Type, _ format: String) {
    self.init(name, type) { try $0.where(format) }
  }
}

extension PackageIndex {
  @Suite struct Queries {
    typealias Package = FirstIndex.Package
    typealias Version = FirstIndex.Version
    typealias Dependency = FirstIndex.Dependency

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"), arguments: PackageIndexFile.available)
    func `every package, version, dependency, tag and maintainer of the index is a row`(
      _ kind: PackageIndexFile
    ) async throws {
      let index = try ImportedIndexes.of(kind)
      let counts = index.counts
      try await index.store.read { context in
        counts.expect("Package", try context.fetch(Package.self).count())
        counts.expect("Version", try context.fetch(Version.self).count())
        counts.expect("Dependency", try context.fetch(Dependency.self).count())
        counts.expect("Tag", try context.fetch(FirstIndex.Tag.self).count())
        counts.expect("Maintainer", try context.fetch(FirstIndex.Maintainer.self).count())
        counts.expect("Fingerprint", try context.fetch(FirstIndex.Fingerprint.self).count())
        let day = PackageIndexImport.day
        #expect(try context.fetch(Version.self).where(#Predicate { $0.seen != day }).count() == 0)
        for relation in FirstIndex.Relation.allCases {
          counts.expect(
            "kind \(relation.rawValue)",
            try context.fetch(Dependency.self).where(#Predicate { $0.kind == relation }).count())
        }
      }
    }

    static let queries: [IndexQuery] = [
      IndexQuery("section is libs", Package.self) {
        try $0.where(#Predicate { $0.section == "libs" })
      },
      IndexQuery("no section", Package.self) { try $0.where(#Predicate { $0.section == nil }) },
      IndexQuery("no homepage", Package.self, "homepage == nil"),
      IndexQuery("name like lib*-dev", Package.self, "name LIKE 'lib*-dev'"),
      IndexQuery("name begins not with lib", Package.self, "NOT (name BEGINSWITH 'lib')"),
      IndexQuery("section in a list", Package.self, "section IN {'games', 'doc', 'perl', nil}"),
      IndexQuery("homepage on github", Package.self, "homepage BEGINSWITH 'https://github.com/'"),
      IndexQuery("summary has gtk", Version.self, "summary CONTAINS[c] 'GTK'"),
      IndexQuery("size between", Version.self, "size BETWEEN {20000, 90000}"),
      IndexQuery("big for its size", Version.self, "installedSize > size / 1024 * 5"),
      IndexQuery("needs of libc6 with a bound", Dependency.self) {
        let depends = FirstIndex.Relation.depends
        return try $0.where(
          #Predicate { $0.target?.name == "libc6" && $0.kind == depends && $0.comparison == ">=" })
      },
      IndexQuery("comparison is not >=", Dependency.self) {
        try $0.where(#Predicate { $0.comparison != ">=" })
      },
      IndexQuery("any architecture", Dependency.self, "qualifier == 'any'"),
      IndexQuery(
        "needs by lists.debian.org", Dependency.self,
        "version.maintainer.address CONTAINS '@lists.debian.org'"),
      IndexQuery("packages that need python3", Package.self) {
        try $0.where(
          #Predicate { $0.versions.contains { $0.dependencies.contains { $0.target?.name == "python3" } } })
      },
      IndexQuery(
        "packages that recommend nothing", Package.self, "NONE versions.dependencies.kind == 'recommends'"),
      IndexQuery("only for all", Package.self, "ALL versions.architecture == 'all'"),
      IndexQuery("nobody needs", Package.self, "needed.@count == 0"),
      IndexQuery("several versions", Package.self) { try $0.where(#Predicate { $0.versions.count > 1 }) },
      IndexQuery("more than five tags", Package.self, "tags.@count > 5"),
      IndexQuery("tagged as programs", Package.self, "ANY tags.name == 'role::program'"),
      IndexQuery("need of themselves", Dependency.self, "target == version.package"),
      IndexQuery(
        "needs in libs of libs", Dependency.self,
        "version.package.section == 'libs' AND target.section == 'libs'"),
    ]

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"),
      arguments: PackageIndexFile.available, queries.indices)
    func `a query finds as many objects as Python counts`(_ kind: PackageIndexFile, _ number: Int)
      async throws
    {
      let (index, query) = (try ImportedIndexes.of(kind), Self.queries[number])
      index.counts.expect(query.name, try await index.store.read(query.count))
    }

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"), arguments: PackageIndexFile.available)
    func `the first objects of a sorted fetch are those that Python sorts first`(_ kind: PackageIndexFile)
      async throws
    {
      let index = try ImportedIndexes.of(kind)
      let counts = index.counts
      try await index.store.read { context in
        let largest = try context.fetch(Version.self).sorted(by: \.installedSize, .reverse)
          .sorted(by: \.package?.name).sorted(by: \.text).sorted(by: \.architecture).limit(12).all()
        counts.expect("largest", largest.map { "\($0.package?.name ?? "") \($0.text)" })
        let last = try context.fetch(Package.self).sorted(by: \.name, .reverse).limit(25).all()
        counts.expect("last names", last.map(\.name))
      }
    }

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"), arguments: PackageIndexFile.available)
    func `each tag has as many packages as Python counts`(_ kind: PackageIndexFile) async throws {
      let index = try ImportedIndexes.of(kind)
      let counts = index.counts
      try await index.store.read { context in
        let tags = try context.fetch(FirstIndex.Tag.self).sorted(by: \.name).prefetch(\.packages).all()
        counts.expect("tag counts", tags.map { "\($0.name) \($0.packages.count)" })
        counts.expect("tag links", tags.reduce(0) { $0 + $1.packages.count })
      }
    }

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"), arguments: PackageIndexFile.available)
    func `a digest of the file finds its version, and the version finds the digest`(_ kind: PackageIndexFile)
      async throws
    {
      let index = try ImportedIndexes.of(kind)
      let digest = try #require(UUID(digits: index.counts.first(of: "a digest")))
      try await index.store.read { context in
        let fingerprint = try context.fetch(FirstIndex.Fingerprint.self)
          .where(#Predicate { $0.digest == digest }).one()
        #expect(fingerprint.version?.fingerprint === fingerprint)
        #expect(try context.fetch(Version.self).where("fingerprint.digest == %@", digest).count() == 1)
      }
    }

    @Test(
      .enabled(if: PackageCounts.hasPython, "there is no python3"), arguments: PackageIndexFile.available)
    func `a package that others need is not deleted, and neither are its dependencies`(
      _ kind: PackageIndexFile
    ) async throws {
      let index = try ImportedIndexes.of(kind)
      let popular = try index.counts.first(of: "popular")
      let before = try await index.store.read { try $0.fetch(Dependency.self).count() }
      await #expect {
        try await index.store.write { context in
          context.delete(try context.fetch(Package.self).where(#Predicate { $0.name == popular }).one())
        }
      } throws: { error in
        guard case StoreError.deleteDenied(let entity, _, let property, let count) = error else {
          return false
        }
        return entity == "Package" && property == "needed" && count > 0
      }
      #expect(try await index.store.read { try $0.fetch(Dependency.self).count() } == before)
    }

    @Test(arguments: PackageIndexFile.available)
    func `verify finds no fault in a store with an imported index`(_ kind: PackageIndexFile) async throws {
      #expect(try await ImportedIndexes.of(kind).store.verify().isEmpty)
    }
  }
}
