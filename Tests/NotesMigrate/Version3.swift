// The classes of the tutorial at its third version.

import Foundation
import ObjectVault

enum Version3 {
  final class Folder: ManagedObject {
    @Attribute(.unique) var name: String
    @ToMany(inverse: \Note.folder, onDelete: .cascade)
    var notes: Set<Note>
  }

  final class Note: ManagedObject {
    @Attribute var title: String
    @Attribute var text: String = ""
    @Attribute var isPinned: Bool = false
    @Attribute(.indexed) var createdAt: Date = .now
    @ToOne(.required) var folder: Folder?
  }

  static let schema = Schema {
    Entity(Folder.self)
    Entity(Note.self)
  }
}
