"""The rail at the left: five pages, their badges, the mark above."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QVBoxLayout, QWidget

from kitstudio.ui.drag import references_of
from kitstudio.ui.fonts import Type
from kitstudio.ui.navigator import PageName
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import Icon, Painted
from kitstudio.ui.widgets.text import number, tr

WIDTH = 80
ITEM = 56
SPRING = 350
"""Milliseconds a drag rests on a page button before the page opens."""


class Rail(Painted):
    """Exclusive page buttons. ``chosen(page)`` on a click."""

    chosen = Signal(str)
    dropped = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setAccessibleName(tr("Pages"))
        self.setFixedWidth(theme.px(WIDTH))
        self._group = QButtonGroup(self)
        self.buttons: dict[PageName, RailButton] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, theme.px(8))
        layout.setSpacing(theme.px(4))
        mark = Icon(theme, "logo", 28, Token.ACCENT)
        held = QVBoxLayout()
        held.setContentsMargins(0, theme.px(10), 0, theme.px(10))
        held.addWidget(mark, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addLayout(held)
        words = {
            PageName.CATALOG: tr("Catalog"),
            PageName.COMPOSER: tr("Composer"),
            PageName.APPROVALS: tr("Approvals"),
            PageName.SANDBOXES: tr("Sandboxes"),
            PageName.SETTINGS: tr("Settings"),
        }
        for index, page in enumerate(PageName):
            if page is PageName.SETTINGS:
                layout.addStretch(1)
            made = RailButton(theme, str(page), words[page])
            made.setObjectName(f"rail-{page}")
            made.setShortcut(f"Ctrl+{index + 1}")
            made.setToolTip(f"{words[page]} (Ctrl+{index + 1})")
            made.clicked.connect(lambda _=False, page=page: self.chosen.emit(str(page)))
            made.dropped.connect(self.dropped)
            made.setAcceptDrops(page is PageName.COMPOSER)
            self._group.addButton(made)
            self.buttons[page] = made
            layout.addWidget(made)

    def _restyle(self) -> None:
        self.setFixedWidth(self.theme.px(WIDTH))
        super()._restyle()

    def show_page(self, page: PageName) -> None:
        self.buttons[page].setChecked(True)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.colour(Token.BACKGROUND))
        painter.setPen(self.theme.colour(Token.BORDER))
        painter.drawLine(self.width() - 1, 0, self.width() - 1, self.height())


class RailButton(QAbstractButton):
    """Icon over word, with a count where something waits.

    A drag that rests on it opens its page, so a Kit can be dropped there; a drop on the button itself also counts.
    """

    dropped = Signal(str)

    def __init__(self, theme: Theme, icon: str, text: str) -> None:
        super().__init__()
        self.theme = theme
        self._icon = icon
        self._count, self._attention = 0, False
        self.setText(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(text)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self._spring = QTimer(self)
        self._spring.setSingleShot(True)
        self._spring.setInterval(SPRING)
        self._spring.timeout.connect(self.click)
        theme.changed.connect(self.updateGeometry)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if references_of(event.mimeData()):
            event.acceptProposedAction()
            self._spring.start()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._spring.stop()

    def dropEvent(self, event: QDropEvent) -> None:
        self._spring.stop()
        for reference in references_of(event.mimeData()):
            self.dropped.emit(reference)
        event.acceptProposedAction()

    def show_badge(self, count: int, attention: bool = False) -> None:
        self._count, self._attention = count, attention
        self.setAccessibleName(f"{self.text()}, {count}" if count else self.text())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(WIDTH), self.theme.px(ITEM))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self.theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        on = self.isChecked()
        inset = theme.px(4) + 0.5
        box = QRectF(self.rect()).adjusted(inset, 0.5, -inset, -0.5)
        if on:
            painter.setPen(QPen(theme.colour(Token.ACCENT_BORDER), 1))
            painter.setBrush(theme.colour(Token.ACCENT_TINT))
            painter.drawRoundedRect(box, 6, 6)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(Token.ACCENT))
            bar = QRectF(0, theme.px(12), theme.px(3), self.height() - 2 * theme.px(12))
            painter.drawRoundedRect(bar, 1.5, 1.5)
        elif self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(Token.SURFACE))
            painter.drawRoundedRect(box, 6, 6)
        ink = Token.ACCENT if on else Token.SECONDARY
        side = theme.px(20)
        words = theme.metrics(Type.LABEL if on else Type.SMALL)
        top = (self.height() - side - theme.px(4) - words.height()) // 2
        painter.drawPixmap((self.width() - side) // 2, top, theme.pixmap(self._icon, 20, ink))
        painter.setFont(theme.font(Type.LABEL if on else Type.SMALL))
        painter.setPen(theme.colour(ink))
        area = QRect(0, top + side + theme.px(4), self.width(), words.height())
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter, self.text())
        if self._count:
            self._paint_badge(painter, top)

    def _paint_badge(self, painter: QPainter, icon_top: int) -> None:
        theme = self.theme
        text = number(self._count)
        height, icon = theme.px(18), theme.px(12) + theme.px(1) if self._attention else 0
        width = max(height, theme.metrics(Type.LABEL).horizontalAdvance(text) + theme.px(10)) + icon
        left = min(self.width() - width - 2, self.width() // 2 + theme.px(8))
        rect = QRectF(left, max(1, icon_top - theme.px(5)), width, height)
        ring = theme.colour(Token.ACCENT_TINT if self.isChecked() else Token.BACKGROUND)
        painter.setPen(QPen(ring, 4))
        painter.setBrush(ring)
        painter.drawRoundedRect(rect, height / 2, height / 2)
        if self._attention:
            ink, tint, _ = theme.tone(Tone.SERIOUS)
            painter.setPen(QPen(ink, 1))
            painter.setBrush(tint)
        else:
            ink = theme.colour(Token.ON_ACCENT)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(Token.ACCENT_FILL))
        painter.drawRoundedRect(rect, height / 2, height / 2)
        if self._attention:
            at = rect.toRect()
            picture = theme.pixmap("serious", 12, ink)
            painter.drawPixmap(at.left() + theme.px(4), at.top() + (at.height() - theme.px(12)) // 2, picture)
        painter.setPen(ink)
        painter.setFont(theme.font(Type.LABEL))
        inner = rect.adjusted(icon, 0, 0, 0)
        painter.drawText(inner, Qt.AlignmentFlag.AlignCenter, text)
