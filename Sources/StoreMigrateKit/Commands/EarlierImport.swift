// The files that an earlier `schema import` wrote into a folder. The next import of the same file
// replaces them, as long as they are unedited.

import CipherSQLite
import Foundation
import ObjectVault

/// The step and the classes of an earlier import, if there was one.
struct EarlierImport {
  private static let fileName = "0001_adopted.migration"

  private let folder: URL
  private let classes: URL
  /// The name of the imported file, without its folder.
  private let source: String

  /// - Parameters:
  ///   - folder: The folder of the steps.
  ///   - classes: The file that the classes are written to.
  ///   - source: The path of the file to import.
  init(folder: URL, classes: URL, source: String) {
    (self.folder, self.classes) = (folder, classes)
    self.source = URL(fileURLWithPath: source).lastPathComponent
  }

  private var step: URL { folder.appendingPathComponent(Self.fileName) }

  /// Returns the file names of the steps in a folder, sorted.
  static func steps(in folder: URL) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter(MigrationSet.isStepFile).sorted()
  }

  /// Returns whether the first step of a folder was written by an import of a file with this name, even
  /// if the step was edited since. Only names are compared: the file may have been moved and replaced by
  /// another.
  static func isStep(ofOneNamedAs source: String, in folder: URL) -> Bool {
    guard steps(in: folder).first == fileName,
      let record = text(folder.appendingPathComponent(fileName)).flatMap(ImportRecord.init(of:))
    else { return false }
    return record.source == URL(fileURLWithPath: source).lastPathComponent
  }

  /// Whether there is an earlier step to be replaced. Meaningful only after `check(classes:)`.
  var exists: Bool { FileManager.default.fileExists(atPath: step.path) }

  /// Checks that an import may write: the folder has no steps, and no file exists at the path of the
  /// classes, except unedited ones of an earlier import of the same file. An import that was killed
  /// between writing its two files also counts as an earlier one.
  /// - Parameter code: The classes that are about to be written; nil before they are known. Without them
  ///   a half-finished import is accepted unchecked, so call this again with them.
  /// - Throws: ``RefusedError``, which explains what is in the way.
  func check(classes code: String? = nil) throws {
    let steps = Self.steps(in: folder)
    let record = steps == [Self.fileName] ? Self.text(step).flatMap(ImportRecord.init(of:)) : nil
    let ours = record.map { URL(fileURLWithPath: "\(base.path)/\($0.classes)") }
    if record == nil, let step = steps.first {
      throw refusal(
        "\(folder.path) already has \(step). An import writes the first step, so use --migrations to give a "
          + "folder that contains no steps.")
    }
    // Only an import's own files may be replaced, or be named in the `rm` line of a message: any other
    // file is the user's work.
    if isTaken(classes), ours.map(Self.place) != Self.place(classes) {
      throw refusal("\(classes.path) already exists. Give another file with --classes.")
    }
    guard let record, let ours else { return }
    guard try Releases(folder).version == 0 else {
      throw refusal(
        "\(step.path) comes from an earlier import and was released. Give another folder with --migrations."
      )
    }
    guard let difference = difference(from: record, ours, code) else { return }
    let files = [step, ours].map { $0.standardizedFileURL.path }.filter(FileManager.default.fileExists)
    throw refusal(
      "\(step.path) comes from an earlier import\(difference). To import again, first remove:\n"
        + "  rm \(files.map(shellPath).joined(separator: " "))\n")
  }

  /// Returns why the earlier import must not be replaced, as the end of a sentence; nil when it may be.
  private func difference(from record: ImportRecord, _ ours: URL, _ code: String?) -> String? {
    guard record.source == source else { return ", of \(record.source) instead of \(source)" }
    guard Self.place(ours) == Self.place(classes) else {
      return ", with its classes in \(ours.standardizedFileURL.path)"
    }
    if let text = Self.text(step) {
      if let classes = Self.text(ours), record.isOf(step: text, classes: classes) { return nil }
      // An interrupted first import leaves only the step. An interrupted replacement leaves the new
      // classes with the old step.
      if record.isOf(step: text), !isTaken(ours) || code == nil || Self.text(ours) == code { return nil }
    }
    return ", and it or \(ours.standardizedFileURL.path) has been edited since"
  }

  private func refusal(_ reason: String) -> RefusedError {
    RefusedError(
      code: .failed, description: "\(reason)\(reason.hasSuffix("\n") ? "" : " ")Nothing was written.")
  }

  /// Returns whether something exists at the path. A dangling symbolic link counts.
  private func isTaken(_ file: URL) -> Bool {
    FileManager.default.fileExists(atPath: file.path)
      || (try? FileManager.default.destinationOfSymbolicLink(atPath: file.path)) != nil
  }

  // MARK: Writing

  /// Writes both files, or neither. It replaces the earlier ones that ``check(classes:)`` accepted. A
  /// process that is killed between the two writes leaves a state that ``check(classes:)`` recognizes.
  /// - Throws: ``RefusedError`` with the system's message.
  func write(_ text: String, classes code: String) throws {
    let record = ImportRecord(source: source, classes: Self.path(to: classes, from: base))
    let marked = record.marked(text, classes: code)
    do {
      if isTaken(classes) {
        let former = try TextFile.read(classes.path) ?? []
        try TextFile.write(Array(code.utf8), to: classes.path)
        do { try write(marked, to: step, replacing: exists) } catch {
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

  /// The steps' folder without symbolic links. The path of the classes is recorded relative to it, so
  /// that the app can be moved as a whole.
  private var base: URL { URL(fileURLWithPath: folder.resolvingSymlinksInPath().path, isDirectory: true) }

  private static func place(_ file: URL) -> String { file.standardizedFileURL.resolvingSymlinksInPath().path }

  /// Returns the relative path from a folder to a file.
  private static func path(to file: URL, from folder: URL) -> String {
    let target =
      file.deletingLastPathComponent().resolvingSymlinksInPath().pathComponents + [file.lastPathComponent]
    let start = folder.pathComponents
    let shared = zip(start, target).prefix { $0 == $1 }.count
    return (start.dropFirst(shared).map { _ in ".." } + target.dropFirst(shared)).joined(separator: "/")
  }

  private static func text(_ file: URL) -> String? { try? String(contentsOf: file, encoding: .utf8) }
}

/// The record of an import, which it writes into the comments of its step.
private struct ImportRecord {
  private static let (sourceMark, classesMark) = ("# Imported from: ", "# With classes in: ")
  /// The prefix of the line with two digests: of both files together, and of the step alone.
  private static let mark = "# Both as they were written: "

  /// The name of the imported file.
  let source: String
  /// The path of the classes, relative to the steps' folder.
  let classes: String
  private var digests = ""

  init(source: String, classes: String) { (self.source, self.classes) = (source, classes) }

  /// Reads the record in a step's text; nil when no import wrote the step.
  init?(of text: String) {
    func value(_ mark: String) -> String? {
      text.split(separator: "\n").first { $0.hasPrefix(mark) }?.dropFirst(mark.count).removingPercentEncoding
    }
    guard let source = value(Self.sourceMark), let classes = value(Self.classesMark),
      let digests = value(Self.mark)
    else { return nil }
    (self.source, self.classes, self.digests) = (source, classes, digests)
  }

  /// Returns the text of a step with this record in it.
  func marked(_ text: String, classes: String) -> String {
    let lines = "\(Self.sourceMark)\(Self.line(source))\n\(Self.classesMark)\(Self.line(self.classes))\n"
    let text = text.replacing("\n[up]\n", with: "\(lines)\n[up]\n", maxReplacements: 1)
    let digests = "\(Self.digest(of: text, classes)) \(sha256(Data(text.utf8)))"
    return text.replacing("\n[up]\n", with: "\(Self.mark)\(digests)\n\n[up]\n", maxReplacements: 1)
  }

  /// Returns whether a step and its classes are both unedited.
  func isOf(step text: String, classes: String) -> Bool {
    digests.split(separator: " ").first.map(String.init) == Self.digest(of: unmarked(text), classes)
  }

  /// Returns whether a step is unedited, regardless of its classes.
  func isOf(step text: String) -> Bool {
    digests.split(separator: " ").dropFirst().first.map(String.init) == sha256(Data(unmarked(text).utf8))
  }

  private func unmarked(_ text: String) -> String {
    text.replacing("\(Self.mark)\(digests)\n\n[up]\n", with: "\n[up]\n", maxReplacements: 1)
  }

  private static func digest(of text: String, _ classes: String) -> String {
    sha256(Data((text + "\0" + classes).utf8))
  }

  /// Returns a name on one line: "%", hidden characters, and whitespace other than spaces are
  /// percent-encoded.
  private static func line(_ name: String) -> String {
    name.unicodeScalars.reduce(into: "") { line, scalar in
      guard scalar == "%" || scalar.isHidden || scalar.properties.isWhitespace && scalar != " " else {
        return line.unicodeScalars.append(scalar)
      }
      for byte in String(scalar).utf8 { line += "%" + String(Int(byte) + 0x100, radix: 16).dropFirst() }
    }
  }
}
