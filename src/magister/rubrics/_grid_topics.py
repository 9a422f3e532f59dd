"""What the scenarios of a grid are about: subjects, stages, and topics in English and Chinese."""

from __future__ import annotations

SUBJECTS = {
    "mathematics": ("mathematics", "数学"),
    "language_arts": ("language arts", "语文"),
    "foreign_language": ("English as a foreign language", "英语"),
    "physics": ("physics", "物理"),
    "chemistry": ("chemistry", "化学"),
    "biology": ("biology", "生物"),
    "geography": ("geography", "地理"),
    "history": ("history", "历史"),
    "civics": ("civics", "道德与法治"),
    "computing": ("computing", "信息科技"),
    "art": ("art", "美术"),
}
STAGES = {
    "primary": ("primary school", "小学"),
    "lower_secondary": ("lower secondary school", "初中"),
    "upper_secondary": ("upper secondary school", "高中"),
}
LEARNERS = {
    "primary": (
        ("is curious, reads slowly and likes to draw", "好奇心强，阅读较慢，喜欢画画"),
        ("answers fast and rarely checks", "回答很快，很少检查"),
    ),
    "lower_secondary": (
        ("is careful and afraid of mistakes", "认真，但害怕出错"),
        ("knows rules by heart and cannot say why they hold", "会背规则，但说不出道理"),
    ),
    "upper_secondary": (
        ("works alone and asks only when nothing else helps", "习惯独立学习，不到万不得已不提问"),
        ("is strong in the subject and bored by routine", "基础扎实，对重复练习感到厌倦"),
    ),
}
"""Two learners per stage."""
# Three topics per subject and stage.
TOPICS = {
    ("mathematics", "primary"): (
        ("comparing fractions", "分数的大小比较"),
        ("the area of a rectangle", "长方形的面积"),
        ("division with a remainder", "有余数的除法"),
    ),
    ("mathematics", "lower_secondary"): (
        ("linear equations", "一元一次方程"),
        ("the theorem of Pythagoras", "勾股定理"),
        ("mean and median", "平均数与中位数"),
    ),
    ("mathematics", "upper_secondary"): (
        ("the derivative as a rate of change", "导数与变化率"),
        ("conditional probability", "条件概率"),
        ("arithmetic sequences", "等差数列"),
    ),
    ("language_arts", "primary"): (
        ("retelling a fable in one's own words", "用自己的话复述寓言"),
        ("describing a place", "描写一处地方"),
        ("commas and full stops", "逗号与句号的使用"),
    ),
    ("language_arts", "lower_secondary"): (
        ("the narrator of a short story", "小说的叙述者"),
        ("building an argument", "议论文的论证"),
        ("metaphor and simile", "比喻的运用"),
    ),
    ("language_arts", "upper_secondary"): (
        ("irony in prose", "散文中的反讽"),
        ("comparing two poems", "两首诗的比较阅读"),
        ("summarising an essay", "概括一篇论说文"),
    ),
    ("foreign_language", "primary"): (
        ("talking about the weather", "谈论天气"),
        ("numbers up to one hundred", "一百以内的数字"),
        ("describing one's family", "介绍家人"),
    ),
    ("foreign_language", "lower_secondary"): (
        ("past simple and present perfect", "一般过去时与现在完成时"),
        ("asking for directions", "问路"),
        ("writing a postcard", "写明信片"),
    ),
    ("foreign_language", "upper_secondary"): (
        ("conditional sentences", "条件句"),
        ("writing a formal letter", "写正式信件"),
        ("linking words in an essay", "作文中的连接词"),
    ),
    ("physics", "primary"): (
        ("floating and sinking", "物体的沉浮"),
        ("shadows during the day", "一天中影子的变化"),
        ("a simple electric circuit", "简单电路"),
    ),
    ("physics", "lower_secondary"): (
        ("pressure in liquids", "液体的压强"),
        ("levers", "杠杆"),
        ("series and parallel circuits", "串联与并联电路"),
    ),
    ("physics", "upper_secondary"): (
        ("conservation of momentum", "动量守恒"),
        ("electromagnetic induction", "电磁感应"),
        ("uniform circular motion", "匀速圆周运动"),
    ),
    ("chemistry", "primary"): (
        ("what dissolves in water", "什么能溶于水"),
        ("rusting of iron", "铁生锈"),
        ("separating sand and salt", "分离沙子和盐"),
    ),
    ("chemistry", "lower_secondary"): (
        ("conservation of mass", "质量守恒"),
        ("acids and indicators", "酸与指示剂"),
        ("burning and oxygen", "燃烧与氧气"),
    ),
    ("chemistry", "upper_secondary"): (
        ("chemical equilibrium", "化学平衡"),
        ("redox reactions", "氧化还原反应"),
        ("rates of reaction", "化学反应速率"),
    ),
    ("biology", "primary"): (
        ("what seeds need to sprout", "种子发芽的条件"),
        ("food chains in a pond", "池塘里的食物链"),
        ("healthy teeth", "保护牙齿"),
    ),
    ("biology", "lower_secondary"): (
        ("photosynthesis", "光合作用"),
        ("the heart and blood flow", "心脏与血液循环"),
        ("cells under the microscope", "显微镜下的细胞"),
    ),
    ("biology", "upper_secondary"): (
        ("Mendel's laws", "孟德尔定律"),
        ("enzymes and temperature", "酶与温度"),
        ("natural selection", "自然选择"),
    ),
    ("geography", "primary"): (
        ("reading a map of the village", "看懂社区地图"),
        ("the water cycle", "水循环"),
        ("day and night", "昼夜更替"),
    ),
    ("geography", "lower_secondary"): (
        ("causes of the seasons", "四季的成因"),
        ("rivers and settlements", "河流与聚落"),
        ("time zones", "时区"),
    ),
    ("geography", "upper_secondary"): (
        ("urban heat islands", "城市热岛"),
        ("soil erosion", "水土流失"),
        ("population pyramids", "人口金字塔"),
    ),
    ("history", "primary"): (
        ("how people lived before electricity", "没有电的时候人们怎样生活"),
        ("the story of paper", "纸的故事"),
        ("a timeline of one's family", "家庭时间线"),
    ),
    ("history", "lower_secondary"): (
        ("the Silk Road", "丝绸之路"),
        ("why cities grew on rivers", "城市为什么沿河发展"),
        ("the invention of printing", "印刷术的发明"),
    ),
    ("history", "upper_secondary"): (
        ("causes of the Industrial Revolution", "工业革命的起因"),
        ("reading a historical source", "史料的辨析"),
        ("trade and exchange in the age of sail", "帆船时代的贸易与交流"),
    ),
    ("civics", "primary"): (
        ("rules in the classroom", "班级规则"),
        ("sharing fairly", "公平分享"),
        ("safety on the road", "交通安全"),
    ),
    ("civics", "lower_secondary"): (
        ("rights and duties", "权利与义务"),
        ("privacy online", "网络隐私"),
        ("solving a conflict", "解决矛盾"),
    ),
    ("civics", "upper_secondary"): (
        ("how a law is made", "法律的制定"),
        ("supply and demand", "供给与需求"),
        ("judging the truth of news", "辨别新闻真伪"),
    ),
    ("computing", "primary"): (
        ("steps and loops in everyday life", "生活中的步骤与循环"),
        ("safe passwords", "安全的密码"),
        ("sorting cards", "给卡片排序"),
    ),
    ("computing", "lower_secondary"): (
        ("variables and conditions", "变量与条件"),
        ("how a search engine finds pages", "搜索引擎怎样找到网页"),
        ("binary numbers", "二进制"),
    ),
    ("computing", "upper_secondary"): (
        ("recursion", "递归"),
        ("binary search", "二分查找"),
        ("training data and bias", "训练数据与偏差"),
    ),
    ("art", "primary"): (
        ("mixing colours", "颜色的混合"),
        ("patterns in nature", "自然中的纹样"),
        ("drawing a face", "画人脸"),
    ),
    ("art", "lower_secondary"): (
        ("one-point perspective", "一点透视"),
        ("light and shade", "明暗关系"),
        ("designing a poster", "设计海报"),
    ),
    ("art", "upper_secondary"): (
        ("composition in landscape painting", "山水画的构图"),
        ("a critique of a building", "建筑评论"),
        ("storyboards", "分镜头设计"),
    ),
}
