// What an earlier `schema import` has written into a folder: it is replaced by the next one of the same file as long as nobody has
// touched it.

import CipherSQLite
import Foundation
import ObjectVault

/// The step and the classes of an earlier import, where there are any.
struct FormerImport {
  private static let fileName = "0001_adopted.migration"

  private let folder: URL
  private let classes: URL
  /// The name of the file that is imported.
  private let source: String

  /// - Parameters:
  ///   - folder: That of the steps.
  ///   - classes: Where the classes go.
  ///   - source: The path of the file that is imported.
  init(folder: URL, classes: URL, source: String) {
    (self.folder, self.classes) = (folder, classes)
    self.source = URL(fileURLWithPath: source).lastPathComponent
  }

  private var step: URL { folder.appendingPathComponent(Self.fileName) }

  /// The names of the steps of a folder, in their order.
  static func steps(in folder: URL) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter(MigrationSet.isStepFile).sorted()
  }

  /// Whether the first step of a folder is what an import of a file of this name wrote, whatever became of it since. Whether it
  /// was this file is not known: it may have been moved since, and another may lie in its place.
  static func isStep(ofOneNamedAs source: String, in folder: URL) -> Bool {
    guard steps(in: folder).first == fileName,
      let record = text(folder.appendingPathComponent(fileName)).flatMap(ImportRecord.init(of:))
    else { return false }
    return record.source == URL(fileURLWithPath: source).lastPathComponent
  }

  /// Whether there is a former step to be replaced; asked behind ``check()``.
  var isThere: Bool { FileManager.default.fileExists(atPath: step.path) }

  /// Refuses a folder with steps, and a file that is there, but for those of an earlier import of the same file that are as it
  /// wrote them; or as it left them that was killed between the two, for which it is asked again.
  /// - Parameter code: The classes that are about to be written; nil before it is known what they are.
  func check(classes code: String? = nil) throws {
    let steps = Self.steps(in: folder)
    let record = steps == [Self.fileName] ? Self.text(step).flatMap(ImportRecord.init(of:)) : nil
    let ours = record.map { URL(fileURLWithPath: "\(base.path)/\($0.classes)") }
    if record == nil, let step = steps.first {
      throw refusal(
        "\(folder.path) has \(step) already. The tables of a file are a first step: name a folder without any, with "
          + "--migrations.")
    }
    // Nothing but an import's own file is replaced, or named in a line that removes it: another is somebody's work.
    if isTaken(classes), ours.map(Self.place) != Self.place(classes) {
      throw refusal("\(classes.path) is there already. Name another file with --classes.")
    }
    guard let record, let ours else { return }
    guard try Releases(folder).version == 0 else {
      throw refusal(
        "\(step.path) is of an earlier import, and released: people have it. Name another folder with --migrations."
      )
    }
    guard let difference = difference(from: record, ours, code) else { return }
    let files = [step, ours].map { $0.standardizedFileURL.path }.filter(FileManager.default.fileExists)
    throw refusal(
      "\(step.path) is of an earlier import\(difference). To import anew, remove the former first:\n"
        + "  rm \(files.map(shellPath).joined(separator: " "))\n")
  }

  /// What keeps the former import from being replaced, as the end of a sentence; nil where nothing does.
  private func difference(from record: ImportRecord, _ ours: URL, _ code: String?) -> String? {
    guard record.source == source else { return ", of \(record.source) and not of \(source)" }
    guard Self.place(ours) == Self.place(classes) else {
      return ", with its classes in \(ours.standardizedFileURL.path)"
    }
    if let text = Self.text(step) {
      if let classes = Self.text(ours), record.isOf(text, classes) { return nil }
      // Of a first import that was stopped the step is there alone; of one that replaces, the new classes beside the old step.
      if record.isOf(step: text), !isTaken(ours) || code == nil || Self.text(ours) == code { return nil }
    }
    return ", and it and \(ours.standardizedFileURL.path) are not as that wrote them"
  }

  private func refusal(_ reason: String) -> RefusedError {
    RefusedError(
      code: .failed, description: "\(reason)\(reason.hasSuffix("\n") ? "" : " ")Nothing was written.")
  }

  /// A link that leads nowhere is one, too.
  private func isTaken(_ file: URL) -> Bool {
    FileManager.default.fileExists(atPath: file.path)
      || (try? FileManager.default.destinationOfSymbolicLink(atPath: file.path)) != nil
  }

  // MARK: Writing

  /// Writes both files, or none: in the place of the former ones, where ``check(classes:)`` has found these. Whoever is killed
  /// between the two leaves what ``check(classes:)`` knows.
  /// - Throws: ``RefusedError`` with what the system says.
  func write(_ text: String, classes code: String) throws {
    let record = ImportRecord(source: source, classes: Self.path(to: classes, from: base))
    let marked = record.marked(text, classes: code)
    do {
      if isTaken(classes) {
        let former = try TextFile.read(classes.path) ?? []
        try TextFile.write(Array(code.utf8), to: classes.path)
        do { try write(marked, to: step, replacing: isThere) } catch {
          try TextFile.write(former, to: classes.path)
          throw error
        }
      } else {
        let former = try TextFile.read(step.path)
        try write(marked, to: step, replacing: former != nil)
        do { try write(code, to: classes, replacing: false) } catch {
          if let former {
            try TextFile.write(former, to: step.path)
          } else {
            try TextFile.remove(step.path)
          }
          throw error
        }
      }
    } catch {
      throw RefusedError(
        code: ExitCode(error),
        description: "\(ended(ErrorText.of(error, hasStore: false))) Nothing was written.")
    }
  }

  private func write(_ text: String, to file: URL, replacing: Bool) throws {
    if replacing {
      try TextFile.write(Array(text.utf8), to: file.path)
    } else {
      try TextFile.create(Array(text.utf8), at: file.path)
    }
  }

  // MARK: Paths

  /// The folder without links, from which the path of the classes leads on: both move along with the app.
  private var base: URL { URL(fileURLWithPath: folder.resolvingSymlinksInPath().path, isDirectory: true) }

  private static func place(_ file: URL) -> String { file.standardizedFileURL.resolvingSymlinksInPath().path }

  /// The path from a folder to a file.
  private static func path(to file: URL, from folder: URL) -> String {
    let target =
      file.deletingLastPathComponent().resolvingSymlinksInPath().pathComponents + [file.lastPathComponent]
    let start = folder.pathComponents
    let shared = zip(start, target).prefix { $0 == $1 }.count
    return (start.dropFirst(shared).map { _ in ".." } + target.dropFirst(shared)).joined(separator: "/")
  }

  private static func text(_ file: URL) -> String? { try? String(contentsOf: file, encoding: .utf8) }
}

/// What a step says in its comments of the import that wrote it.
private struct ImportRecord {
  private static let (sourceMark, classesMark) = ("# Imported from: ", "# With classes in: ")
  /// In front of the digest of both files, and that of the step alone.
  private static let mark = "# Both as they were written: "

  /// The name of the file that was imported.
  let source: String
  /// The path of the classes, from the folder of the steps.
  let classes: String
  private var digests = ""

  init(source: String, classes: String) { (self.source, self.classes) = (source, classes) }

  /// nil for a step that no import wrote.
  init?(of text: String) {
    func value(_ mark: String) -> String? {
      text.split(separator: "\n").first { $0.hasPrefix(mark) }?.dropFirst(mark.count).removingPercentEncoding
    }
    guard let source = value(Self.sourceMark), let classes = value(Self.classesMark),
      let digests = value(Self.mark)
    else { return nil }
    (self.source, self.classes, self.digests) = (source, classes, digests)
  }

  /// The text of a step with all that is said here in it.
  func marked(_ text: String, classes: String) -> String {
    let lines = "\(Self.sourceMark)\(Self.line(source))\n\(Self.classesMark)\(Self.line(self.classes))\n"
    let text = text.replacing("\n[up]\n", with: "\(lines)\n[up]\n", maxReplacements: 1)
    let digests = "\(Self.digest(of: text, classes)) \(sha256(Data(text.utf8)))"
    return text.replacing("\n[up]\n", with: "\(Self.mark)\(digests)\n\n[up]\n", maxReplacements: 1)
  }

  /// Whether a step and its classes are as they were written.
  func isOf(_ text: String, _ classes: String) -> Bool {
    digests.split(separator: " ").first.map(String.init) == Self.digest(of: unmarked(text), classes)
  }

  /// Whether a step is as it was written, whatever became of its classes.
  func isOf(step text: String) -> Bool {
    digests.split(separator: " ").dropFirst().first.map(String.init) == sha256(Data(unmarked(text).utf8))
  }

  private func unmarked(_ text: String) -> String {
    text.replacing("\(Self.mark)\(digests)\n\n[up]\n", with: "\n[up]\n", maxReplacements: 1)
  }

  private static func digest(of text: String, _ classes: String) -> String {
    sha256(Data((text + "\0" + classes).utf8))
  }

  /// A name, which may have the end of a line in it, in one.
  private static func line(_ name: String) -> String {
    name.unicodeScalars.reduce(into: "") { line, scalar in
      guard scalar == "%" || scalar.isHidden || scalar.properties.isWhitespace && scalar != " " else {
        return line.unicodeScalars.append(scalar)
      }
      for byte in String(scalar).utf8 { line += "%" + String(Int(byte) + 0x100, radix: 16).dropFirst() }
    }
  }
}
