// Imports paragraphs as objects, one batch in each write.

import Foundation
import ObjectVault
import TestSupport
import Testing

/// Objects by their names: those in the store, and new ones that are made on demand.
private struct Named<Object: ManagedObject> {
  let context: ObjectContext
  let path: ReferenceWritableKeyPath<Object, String>
  private var known: [String: Object] = [:]

  init(_ context: ObjectContext, _ path: ReferenceWritableKeyPath<Object, String>, names: Set<String>)
    throws
  {
    (self.context, self.path) = (context, path)
    let property = path == \FirstIndex.Maintainer.address ? "address" : "name"
    for object in try context.fetch(Object.self).where("%K IN %@", property, Array(names)).all() {
      known[object[keyPath: path]] = object
    }
  }

  mutating func find(_ name: String) -> Object {
    if let object = known[name] { return object }
    let object = context.insert(Object.self) { $0[keyPath: path] = name }
    known[name] = object
    return object
  }
}

enum PackageIndexImport {
  /// The date when every index was seen, for an attribute with a date.
  static let day = Date(timeIntervalSinceReferenceDate: 800_000_000.125)

  /// Imports a file into a store of the first version.
  static func run(_ file: URL, into store: Store) async throws {
    let paragraphs = try PackageParagraph.read(file)
    for start in stride(from: 0, to: paragraphs.count, by: 1000) {
      let batch = Array(paragraphs[start..<min(start + 1000, paragraphs.count)])
      try await store.write { context in try add(batch, to: context) }
    }
  }

  private static func add(_ batch: [PackageParagraph], to context: ObjectContext) throws {
    var packages = try Named(
      context, \FirstIndex.Package.name, names: Set(batch.flatMap { [$0.name] + $0.needs.map(\.name) }))
    var tags = try Named(context, \FirstIndex.Tag.name, names: Set(batch.flatMap(\.tags)))
    var maintainers = try Named(
      context, \FirstIndex.Maintainer.address, names: Set(batch.compactMap { $0.fields["Maintainer"] }))
    for paragraph in batch {
      let package = packages.find(paragraph.name)
      if package.section == nil {
        package.section = paragraph.fields["Section"] ?? "unknown"
        package.homepage = paragraph.fields["Homepage"].flatMap { URL(string: $0) }
      }
      if !paragraph.tags.isEmpty { package.tags.formUnion(paragraph.tags.map { tags.find($0) }) }
      let version = add(paragraph, of: package, to: context)
      version.maintainer = paragraph.fields["Maintainer"].map { maintainers.find($0) }
      for need in paragraph.needs {
        context.insert(FirstIndex.Dependency.self) {
          $0.kind = need.relation
          $0.group = need.group
          $0.position = need.position
          $0.qualifier = need.qualifier
          $0.comparison = need.comparison
          $0.bound = need.bound
          $0.version = version
          $0.target = packages.find(need.name)
        }
      }
    }
  }

  private static func add(
    _ paragraph: PackageParagraph, of package: FirstIndex.Package, to context: ObjectContext
  ) -> FirstIndex.Version {
    let fields = paragraph.fields
    let version = context.insert(FirstIndex.Version.self) {
      $0.text = fields["Version"] ?? ""
      $0.architecture = fields["Architecture"] ?? ""
      $0.priority = fields["Priority"] ?? ""
      $0.installedSize = fields["Installed-Size"].flatMap { Int($0) }
      $0.size = fields["Size"].flatMap { Int($0) }
      $0.summary = fields["Description"] ?? ""
      $0.seen = day
      $0.package = package
    }
    if let digest = fields["MD5sum"].flatMap(UUID.init(digits:)) {
      version.fingerprint = context.insert(FirstIndex.Fingerprint.self) { $0.digest = digest }
    }
    return version
  }
}

extension UUID {
  /// Creates an id from 32 hexadecimal digits, as in checksums.
  init?(digits: String) {
    guard digits.count == 32 else { return nil }
    var text = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { text.append("-") }
      text.append(digit)
    }
    self.init(uuidString: text)
  }
}

/// An index that was imported once for all its tests.
struct ImportedIndex: Sendable {
  let store: Store
  let counts: PackageCounts
}

/// Imports each index before the tests of a suite, and removes it after the last of them.
struct ImportedIndexes: SuiteTrait, TestScoping {
  @TaskLocal static var all: [PackageIndexFile: ImportedIndex] = [:]

  static func of(_ kind: PackageIndexFile) throws -> ImportedIndex { try #require(all[kind]) }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    var all: [PackageIndexFile: ImportedIndex] = [:]
    for kind in PackageIndexFile.available {
      let file = try kind.write(into: folder)
      let store = try await Store.open(
        at: folder.url.appendingPathComponent("\(kind).store"), key: testKey, schema: FirstIndex.schema,
        migrations: .set(PackageIndexSteps.through(1)))
      try await PackageIndexImport.run(file, into: store)
      all[kind] = ImportedIndex(store: store, counts: try PackageCounts(of: file))
    }
    defer { for index in all.values { index.store.close() } }
    try await Self.$all.withValue(all) { try await function() }
    withExtendedLifetime(folder) {}
  }
}
