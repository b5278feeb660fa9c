// The chain of steps: read from a folder, embedded in the app's code, or derived from a schema.

package import CipherSQLite
public import Foundation

/// All migration steps of a program, in order.
public struct MigrationSet: Sendable, Hashable {
  /// The steps, with number `n` at index `n - 1`.
  public let steps: [MigrationStep]
  /// The app's functions that the steps call.
  var transforms = TransformTable()
  private let lastCompilation = LastCompilation()

  /// Creates a set from steps in any order.
  /// - Parameter steps: The steps.
  /// - Throws: ``StoreError/historyConflict(_:)`` when a number is missing or occurs twice.
  public init(_ steps: [MigrationStep]) throws {
    self.steps = try Self.unfolded(steps.sorted { $0.number < $1.number })
    for (index, step) in self.steps.enumerated() where step.number != index + 1 {
      let isDuplicate = index > 0 && self.steps[index - 1].number == step.number
      let files = Set(self.steps.filter { $0.number == step.number }.map(\.fileName)).sorted()
      throw StoreError.historyConflict(
        isDuplicate ? .duplicate(number: step.number, files: files) : .gap(index + 1))
    }
  }

  /// Reads the steps of a folder: all files with names like `0002_add_tags.migration`.
  /// - Parameter url: The folder.
  /// - Returns: The steps, in order.
  /// - Throws: ``StoreError/migrationSyntax(_:)``, also when there is no such
  ///   folder; ``StoreError/historyConflict(_:)``.
  public static func directory(_ url: URL) throws -> MigrationSet { try directory(url) { $0 } }

  /// Reads the steps of a folder as if its files had other names.
  package static func directory(_ url: URL, naming: (String) -> String) throws -> MigrationSet {
    let folder = try url.filePath
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      throw StoreError.migrationSyntax(noFolder(folder))
    }
    var steps: [MigrationStep] = []
    for name in names.sorted() where isStepFile(name.lowercased()) || isMistyped(name, in: url) {
      guard name.hasSuffix(".migration") else {
        // An ending in capitals denotes the same file on some disks; on others it would be a step that is
        // silently ignored.
        throw StoreError.migrationSyntax(
          MigrationSyntaxError(
            file: name, line: 1, column: 1,
            reason: "the name of a step's file ends with .migration, in lower case",
            hint: "rename it"))
      }
      let path = url.appendingPathComponent(name).path
      let (number, title) = try numberAndName(of: naming(name))
      let text = try text(at: path, name: name)
      steps.append(try MigrationStep(number: number, name: title, text: text, file: naming(name)))
    }
    return try MigrationSet(steps)
  }

  private static func noFolder(_ path: String) -> MigrationSyntaxError {
    // Resolved, so that the attributes are those of the target of a symbolic link.
    let goal = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let kind = try? FileManager.default.attributesOfItem(atPath: goal)[.type] as? FileAttributeType
    let hint = "give the folder with files like 0001_initial.migration"
    let (reason, remedy) =
      kind == nil
      ? ("there is no such folder of migrations", hint)
      : kind == .typeDirectory
        ? ("this folder of migrations cannot be read", "check its permissions")
        : ("this is not a folder of migrations", hint)
    return MigrationSyntaxError(file: path, line: 0, column: 0, reason: reason, hint: remedy)
  }

  /// Whether a file name is that of a step. Hidden files are not steps: editors and copying programs
  /// create them with similar names.
  package static func isStepFile(_ name: String) -> Bool {
    name.hasSuffix(".migration") && !name.hasPrefix(".")
  }

  /// Whether a file name is that of a step with a mistyped ending, which would be silently ignored. Backup
  /// files of editors, such as `0002_add_tags.migration~`, and folders do not count.
  private static func isMistyped(_ name: String, in folder: URL) -> Bool {
    guard name.first?.isNumber == true, let dot = name.lastIndex(of: ".") else { return false }
    let ending = name[dot...].dropFirst().lowercased()
    guard ending.allSatisfy(\.isLetter), editDistance(from: ending, to: "migration") <= 2 else {
      return false
    }
    let kind = try? folder.appendingPathComponent(name).resourceValues(forKeys: [.isDirectoryKey])
    return kind?.isDirectory != true
  }

  /// The text of a step's file. Anything but a regular file is not opened, because reading a pipe
  /// would block.
  private static func text(at path: String, name: String) throws -> String {
    let unreadable = { (reason: String, hint: String) in
      StoreError.migrationSyntax(
        MigrationSyntaxError(file: name, line: 1, column: 1, reason: reason, hint: hint))
    }
    if let goal = try? FileManager.default.destinationOfSymbolicLink(atPath: path),
      !FileManager.default.fileExists(atPath: path)
    {
      throw unreadable(
        "this is a link to \(goal), which does not exist", "put the file there, or remove the link")
    }
    // The file may be the target of a symbolic link.
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let kind = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
    let hint = "remove it, or give it a name with another ending"
    switch kind {
    case .typeDirectory: throw unreadable("this is a folder, but a step is a file", hint)
    case .typeRegular, nil: break
    default: throw unreadable("this is a pipe, a socket or a device, but a step is a file", hint)
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw unreadable("the file cannot be read", "check that it exists, and check its permissions")
    }
    guard let text = String(data: data, encoding: .utf8) else {
      throw unreadable("the file cannot be read as UTF-8", "save it as UTF-8")
    }
    return text
  }

  /// A step as the generated `Embedded.swift` contains it. Its text is not parsed yet: an error in it is
  /// thrown when a store needs the steps.
  public struct Embedded: Sendable {
    let number: Int
    let name: String
    let checksum: String
    let text: String

    /// Creates an embedded step from its number, name, checksum and text.
    /// - Parameters:
    ///   - number: The number of the step.
    ///   - name: The name of the step.
    ///   - checksum: The checksum of the text.
    ///   - text: The text of the step's file.
    public init(number: Int, name: String, checksum: String, text: String) {
      self.number = number
      self.name = name
      self.checksum = checksum
      self.text = text
    }

    /// The checksums that stores record for the steps, in the order of the numbers; nil when a number is
    /// missing or occurs twice.
    static func checksums(of steps: [Embedded]) -> [String]? {
      let isSorted = steps.indices.dropFirst().allSatisfy { steps[$0 - 1].number < steps[$0].number }
      let steps = isSorted ? steps : steps.sorted { $0.number < $1.number }
      guard let first = steps.first else { return [] }
      // Steps that were folded into the first one are embedded only as checksums in its head.
      let folds = first.number > 1 ? FoldedStep.checksums(inHeadOf: first.text) : []
      guard folds.isEmpty ? first.number == 1 : folds.count == first.number,
        steps.indices.allSatisfy({ steps[$0].number == first.number + $0 })
      else { return nil }
      return folds.isEmpty ? steps.map(\.checksum) : folds + steps.dropFirst().map(\.checksum)
    }
  }

  /// Parses the steps of a generated `Embedded.swift`.
  /// - Parameter steps: The embedded steps, in any order.
  /// - Returns: The steps, in order.
  /// - Throws: ``StoreError/migrationSyntax(_:)``; ``StoreError/historyConflict(_:)`` when a text does
  ///   not match its checksum (``HistoryConflict/misembedded(number:name:)``), or a number is missing or
  ///   occurs twice.
  public static func embedded(_ steps: [Embedded]) throws -> MigrationSet {
    try MigrationSet(
      steps.map { embedded in
        let step = try MigrationStep(number: embedded.number, name: embedded.name, text: embedded.text)
        guard step.contentChecksum == embedded.checksum || step.formerChecksum == embedded.checksum else {
          throw StoreError.historyConflict(.misembedded(number: step.number, name: step.name))
        }
        return step
      })
  }

  /// Creates a set of one step that creates the schema: for a first version, tests and prototypes.
  ///
  /// Write the step's ``MigrationStep/text`` to `0001_initial.migration` before the schema changes for
  /// the first time.
  /// - Parameter schema: The schema to create.
  /// - Returns: The set.
  /// - Throws: ``StoreError/invalidSchema(_:)`` with every fault of the schema.
  public static func creating(_ schema: Schema) throws -> MigrationSet {
    try schema.validate()
    return try MigrationSet([MigrationStep(number: 1, name: "initial", operations: schema.creation)])
  }

  /// The number of the last step; 0 without any.
  public var version: Int { steps.count }

  /// Returns the first steps up to a number: those that a store at that version has run.
  ///
  /// A store that is created with them has that version, and a store that is migrated with them stops there.
  /// - Parameter version: The number of the last step.
  /// - Returns: The steps.
  /// - Throws: ``StoreError/historyConflict(_:)`` when there is no such step, or it was folded into a
  ///   later one.
  public func upTo(_ version: Int) throws -> MigrationSet {
    guard (0...self.version).contains(version) else {
      throw StoreError.historyConflict(.noVersion(version, last: self.version))
    }
    try requireReach(from: version)
    return prefix(version)
  }

  /// The first steps, or all when there are fewer than `count`.
  package func prefix(_ count: Int) -> MigrationSet { MigrationSet(first: count, of: self) }

  private init(first count: Int, of set: MigrationSet) {
    steps = Array(set.steps.prefix(max(0, count)))
    transforms = set.transforms
  }

  /// The oldest version of steps that may open a store that has run these steps.
  var minimumReader: Int { steps.map(\.reader).max() ?? version }

  /// Returns the model after a number of steps, by replaying them.
  /// - Parameter version: The number of steps.
  /// - Returns: The model.
  /// - Throws: ``StoreError/migrationFailed(step:name:operation:reason:)`` when an operation does not fit
  ///   the model before it, or the model after a step has faults.
  public func model(at version: Int) throws -> Schema {
    var schema = Schema()
    for step in steps.prefix(max(0, version)) { schema = try step.applied(to: schema) }
    return schema
  }

  /// Returns what a step loses for good, such as `User.city`: tables, columns and links that are kept
  /// nowhere else.
  /// - Parameter number: The number of the step.
  /// - Returns: The losses; empty when there is no such step.
  /// - Throws: The errors of ``model(at:)``.
  public func losses(ofStep number: Int) throws -> [String] {
    try compiled(number)?.losses ?? []
  }

  /// Returns what a step loses without its author's `allow`.
  /// - Parameter number: The number of the step.
  /// - Returns: The losses; empty when there is no such step.
  /// - Throws: The errors of ``model(at:)``.
  public func unallowedLosses(ofStep number: Int) throws -> [String] {
    try compiled(number)?.unallowedLosses ?? []
  }

  /// The models after each step, without that of version 0, computed in one pass.
  /// - Throws: The errors of ``model(at:)``.
  package func models() throws -> [Schema] {
    var (model, models): (Schema, [Schema]) = (Schema(), [])
    for step in steps {
      model = try step.applied(to: model)
      models.append(model)
    }
    return models
  }

  /// Returns the statements of a step for an engine.
  /// - Throws: The errors of ``model(at:)``.
  package func sql(ofStep number: Int, on engine: Engine = .current) throws -> [String] {
    try compiled(number, on: engine)?.parts.flatMap(\.statements).map(\.text) ?? []
  }

  private func compiled(_ number: Int, on engine: Engine = .current) throws -> CompiledStep? {
    guard steps.indices.contains(number - 1) else { return nil }
    return try steps[number - 1].compiled(from: try model(at: number - 1), engine: engine)
  }

  /// The steps above a version, each compiled for the model before it and for this process's engine.
  ///
  /// A plan and the run after it compile once: the last result is kept until ``dropCompilation()``.
  func compiled(after version: Int) throws -> [CompiledStep] {
    try lastCompilation.steps(after: version) {
      var model = try model(at: version)
      return try steps.dropFirst(version).map { step in
        let compiled = try step.compiled(from: model, engine: .current)
        model = compiled.model
        return compiled
      }
    }
  }

  /// Drops the compiled steps. The run calls it at its end: a set lives as long as the program, and its
  /// seeds may be large.
  func dropCompilation() { lastCompilation.drop() }

  /// Parses the number and the name of a step from its file name.
  /// - Throws: ``StoreError/migrationSyntax(_:)`` for a file name of another form.
  package static func numberAndName(of file: String) throws -> (Int, String) {
    let base = file.dropLast(".migration".count)
    let parts = base.split(separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
    let failure = { (reason: String) in
      StoreError.migrationSyntax(
        MigrationSyntaxError(
          file: file, line: 1, column: 1, reason: reason, hint: "use a name like 0002_add_tags.migration"))
    }
    // ASCII digits only: `Int` also accepts other forms, such as +2.
    guard let digits = parts.first, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int(digits), number > 0
    else {
      throw failure("the file's name does not begin with a step number in the digits 0 to 9, followed by _")
    }
    guard parts.count == 2, !parts[1].isEmpty else {
      throw failure("the file's name has no step name after the number and _")
    }
    return (number, String(parts[1]))
  }
}
