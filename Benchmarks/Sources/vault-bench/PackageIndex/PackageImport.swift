// Imports paragraphs as objects, all in one write. It runs in a process of its own, whose time and memory
// are measured.

import Foundation
import ObjectVault

/// The report of a process that imported an index. Both this program and package_index.py print it.
struct ImportReport: Codable {
  /// The peak memory of the process, in bytes.
  let peak: Int
  /// How many rows each table has.
  let rows: [String: Int]
}

/// Reads an index into a store.
struct PackageImport {
  private let context: ObjectContext
  private var sections: Named<DebianIndex.Section>
  private var packages: Named<DebianIndex.Package>
  private var maintainers: Named<DebianIndex.Maintainer>
  private var tags: Named<DebianIndex.Tag>
  /// The keys of all paragraphs: two paragraphs with one key describe the same file.
  private var seen = ByteNames()
  private var key: [UInt8] = []
  /// The numbers of paragraphs whose key was seen before.
  private var repeated: Set<Int> = []
  private(set) var rows: [String: Int] = [:]
  /// The date `seen` of every version.
  private static let day = Date(timeIntervalSinceReferenceDate: 800_000_000.125)
  private static let relations: [(PackageField, DebianIndex.Relation)] = [
    (.depends, .depends), (.preDepends, .preDepends), (.recommends, .recommends), (.suggests, .suggests),
  ]

  /// The number of paragraphs from one save to the next.
  private static let batch = 1000

  /// Imports a file in a process of its own, and prints a report.
  static func run(_ index: String, into url: URL) async throws {
    // The cache has room for all pages until the commit: a page that leaves it before is written twice,
    // and its checksum is computed twice.
    var configuration = Store.Configuration()
    configuration.cacheSize = 56 << 20
    let store = try await DebianIndex.open(url, configuration)
    let rows = try await store.write { context in
      var run = PackageImport(context)
      // Packages first, because versions need packages that are described further down.
      try forEach(in: index, savingTo: context) { run.addPackage($0, $1) }
      run.seen = ByteNames()
      try forEach(in: index, savingTo: context) { run.addVersion($0, $1) }
      return run.counts
    }
    store.close()
    let report = ImportReport(peak: peakBytes(), rows: rows)
    print(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
  }

  /// Calls `body` for each paragraph and its number. All saves are in one transaction. After a save,
  /// objects that are not retained are no longer in memory.
  private static func forEach(
    in index: String, savingTo context: ObjectContext, _ body: (PackageParagraph, Int) -> Void
  ) throws {
    var count = 0
    try PackageParagraph.forEach(in: index) { paragraph in
      body(paragraph, count)
      count += 1
      if count % batch == 0 { try context.save() }
    }
    try context.save()
  }

  private init(_ context: ObjectContext) {
    self.context = context
    sections = Named(context, \.name)
    packages = Named(context, \.name)
    maintainers = Named(context, \.address)
    tags = Named(context, \.name)
  }

  private var counts: [String: Int] {
    rows.merging(
      [
        "Section": sections.count, "Package": packages.count, "Maintainer": maintainers.count,
        "Tag": tags.count,
      ]) { $1 }
  }

  private mutating func addPackage(_ paragraph: PackageParagraph, _ number: Int) {
    guard isNew(paragraph) else {
      repeated.insert(number)
      return
    }
    let package = packages.find(paragraph[.package])
    var found: Set<DebianIndex.Tag> = []
    paragraph.forEachTag { found.insert(tags.find($0)) }
    // Other paragraphs of this package have the same section, and may have more tags.
    if package.section == nil {
      package.section = sections.find(paragraph[.section], or: "unknown")
      package.homepage = paragraph.text(.homepage)
      if !found.isEmpty { package.tags = found }
      rows["Tag_packages", default: 0] += found.count
    } else if !found.isEmpty {
      let before = package.tags.count
      package.tags.formUnion(found)
      rows["Tag_packages", default: 0] += package.tags.count - before
    }
  }

  private mutating func isNew(_ paragraph: PackageParagraph) -> Bool {
    key.removeAll(keepingCapacity: true)
    for field in [PackageField.package, .version, .architecture] {
      if let value = paragraph[field] { key.append(contentsOf: value) }
      key.append(0)
    }
    let count = seen.count
    return key.withUnsafeBytes { seen.number(of: $0) } == count
  }

  private mutating func addVersion(_ paragraph: PackageParagraph, _ number: Int) {
    guard !repeated.contains(number) else { return }
    let version = context.insert(DebianIndex.Version.self) {
      $0.text = paragraph.text(.version) ?? ""
      $0.architecture = paragraph.text(.architecture) ?? ""
      $0.priority = paragraph.text(.priority) ?? ""
      $0.installedSize = paragraph.number(.installedSize)
      $0.size = paragraph.number(.size)
      $0.summary = paragraph.text(.description) ?? ""
      $0.seen = Self.day
      $0.package = packages.find(paragraph[.package])
      if let address = paragraph[.maintainer] { $0.maintainer = maintainers.find(address) }
    }
    rows["Version", default: 0] += 1
    if let digest = paragraph[.digest].flatMap(UUID.init(digits:)) {
      context.insert(DebianIndex.Fingerprint.self) {
        $0.digest = digest
        $0.version = version
      }
      rows["Fingerprint", default: 0] += 1
    }
    addNeeds(of: paragraph, to: version)
  }

  private mutating func addNeeds(of paragraph: PackageParagraph, to version: DebianIndex.Version) {
    var count = 0
    for (field, relation) in Self.relations {
      paragraph.forEachNeed(field) { need in
        let target = packages.find(need.name)
        context.insert(DebianIndex.Dependency.self) {
          $0.kind = relation
          $0.group = need.group
          $0.position = need.position
          $0.qualifier = need.qualifier?.text
          $0.comparison = need.comparison?.text
          $0.bound = need.bound?.text
          $0.version = version
          $0.target = target
        }
        count += 1
      }
    }
    rows["Dependency", default: 0] += count
  }
}

/// Objects by their names. Each is created when its name first occurs.
private struct Named<Object: ManagedObject> {
  let context: ObjectContext
  let path: ReferenceWritableKeyPath<Object, String>
  private var names = ByteNames()
  private var objects: [Object] = []

  init(_ context: ObjectContext, _ path: ReferenceWritableKeyPath<Object, String>) {
    (self.context, self.path) = (context, path)
  }

  var count: Int { objects.count }

  /// - Parameter other: The name to use where `name` is nil.
  mutating func find(_ name: Slice?, or other: StaticString = "") -> Object {
    let name = name ?? Slice(start: other.utf8Start, count: other.utf8CodeUnitCount)
    let number = names.number(of: name)
    if number < objects.count { return objects[number] }
    let object = context.insert(Object.self) { $0[keyPath: path] = name.text }
    objects.append(object)
    return object
  }
}
